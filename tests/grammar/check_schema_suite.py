#!/usr/bin/env python3
"""check_schema_suite.py: whether Python's jsonschema says of every document of data/schema_suite what is said there.

Patterns are those of ECMAScript, so that \\d and \\w mean ASCII here, and what Python's re does not know is passed over; of the
formats those are held to that jsonschema checks wholly by itself. Prints every document on which they do not agree.
"""

import fractions
import json
import pathlib
import re
import sys

import jsonschema

FORMATS = {"date", "ipv4", "ipv6", "uuid", "others"}
# White space of ECMAScript is more than that of ASCII, and the end of Python's re is also before a last line feed.
OTHERWISE = {"a no-break space, which some leave out", "a no-break space", "an em space", "a line feed behind it"}


def pattern(validator, pattern, instance, _schema):
    if validator.is_type(instance, "string") and not re.search(pattern, instance, re.ASCII):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def types(validator, types, instance, schema):
    """OpenAPI 3.0's `nullable` adds null to the types beside it."""
    listed = [types] if isinstance(types, str) else types
    if not (schema.get("nullable") is True and instance is None) and not any(validator.is_type(instance, one) for one in listed):
        yield jsonschema.ValidationError(f"{instance!r} is none of {listed}")


def multiple_of(validator, divisor, instance, _schema):
    """As decimals, whose fractions are not rounded."""
    if validator.is_type(instance, "number") and fractions.Fraction(repr(instance)) % fractions.Fraction(repr(divisor)) != 0:
        yield jsonschema.ValidationError(f"{instance!r} is no multiple of {divisor!r}")


def draft_of(path, schema):
    if isinstance(schema, dict) and isinstance(schema.get("exclusiveMinimum"), bool):
        return jsonschema.Draft4Validator
    return jsonschema.Draft7Validator if "draft7" in path.parts else jsonschema.Draft202012Validator


def main() -> int:
    wrong = held = 0
    for path in sorted((pathlib.Path(__file__).parent / "data" / "schema_suite").rglob("*.json")):
        if path.parent.name == "format" and path.stem not in FORMATS:
            continue
        for case in json.loads(path.read_text("utf-8")):
            draft = draft_of(path, case["schema"])
            kind = jsonschema.validators.extend(draft, {"pattern": pattern, "type": types, "multipleOf": multiple_of})
            for test in case["tests"]:
                value = json.loads(test["text"]) if "text" in test else test["data"]
                if test["description"] in OTHERWISE:
                    continue
                try:
                    valid = kind(case["schema"], format_checker=draft.FORMAT_CHECKER).is_valid(value)
                except (re.error, jsonschema.exceptions._WrappedReferencingError, jsonschema.exceptions.UnknownType, RecursionError):
                    continue
                held += 1
                if valid != test["valid"]:
                    wrong += 1
                    print(path.name, "|", case["description"], "|", test["description"], "|", value, "is", valid)
    print(held, "documents,", wrong, "of them otherwise")
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
