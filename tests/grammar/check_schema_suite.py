#!/usr/bin/env python3
"""check_schema_suite.py: whether Python's jsonschema says of every document of data/schema_suite what is said there.

Patterns are those of ECMAScript, so that \\d and \\w mean ASCII here, and what Python's re does not know is passed over; of the
formats those are held to that jsonschema checks wholly by itself. Prints every document on which they do not agree.
"""

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


def main() -> int:
    wrong = held = 0
    for path in sorted((pathlib.Path(__file__).parent / "data" / "schema_suite").rglob("*.json")):
        if path.parent.name == "format" and path.stem not in FORMATS:
            continue
        draft = jsonschema.Draft7Validator if "draft7" in path.parts else jsonschema.Draft202012Validator
        kind = jsonschema.validators.extend(draft, {"pattern": pattern})
        for case in json.loads(path.read_text("utf-8")):
            for test in case["tests"]:
                value = json.loads(test["text"]) if "text" in test else test["data"]
                if test["description"] in OTHERWISE:
                    continue
                try:
                    valid = kind(case["schema"], format_checker=draft.FORMAT_CHECKER).is_valid(value)
                except (re.error, jsonschema.exceptions._WrappedReferencingError, RecursionError):
                    continue
                held += 1
                if valid != test["valid"]:
                    wrong += 1
                    print(path.name, "|", case["description"], "|", test["description"], "|", value, "is", valid)
    print(held, "documents,", wrong, "of them otherwise")
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
