#!/usr/bin/env python3
"""Writes data/schema_cases.json: schemas of our own and documents, of which Python's jsonschema says whether they hold.

A document that is valid and yet not generated, since a narrower language is taken (grammar/schema/json_schema.h says which),
is listed under "narrow". Needs jsonschema.
"""

import itertools
import json
import pathlib

import jsonschema

CASES: list[dict] = []
STYLES = [{"separators": (",", ":")}, {}, {"indent": 2}]


def text(value, style: int) -> str:
    return json.dumps(value, ensure_ascii=False, **STYLES[style % len(STYLES)])


def case(schema, *values, narrow=()):
    validator = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    checker = validator(schema, format_checker=validator.FORMAT_CHECKER)
    accept, reject = [], []
    for i, value in enumerate(values):
        (accept if checker.is_valid(value) else reject).append(text(value, len(CASES) + i))
    for value in narrow:
        assert checker.is_valid(value), (schema, value)
    CASES.append(
        {"schema": schema, "accept": accept, "reject": reject, "narrow": [text(v, 0) for v in narrow]}
    )


ANY = [None, True, False, 0, -1, 1.5, "", "a", [], [1], {}, {"a": 1}]

# Types.
for one in ["null", "boolean", "integer", "number", "string", "array", "object"]:
    case({"type": one}, *ANY)
for pair in itertools.combinations(["null", "boolean", "integer", "string", "array"], 2):
    case({"type": list(pair)}, *ANY)
case({}, *ANY, {"a": [{"b": [None, {}]}]})
case(True, *ANY)
case({"type": "string"}, 'quote " and \\', "line\nbreak\ttab", "€ 😀 é", "\u0001", "\x7f")
case({"type": "number"}, 0.5, -0.25, 1e10, 12345678901, -7, 1.0)
case({"type": "integer"}, 0, -0, 10, 19, -19, 100200300)

# Bounds of numbers.
NUMBERS = [-1000, -101, -100, -99, -20, -11, -10, -9, -2, -1, 0, 1, 2, 5, 9, 10, 11, 19, 20, 99, 100, 101, 255, 256, 1000]
for low, high in [(0, 9), (0, 10), (1, 100), (-10, 10), (-100, -10), (5, 5), (10, 255), (-1, 1), (99, 101), (0, 0), (20, 19)]:
    case({"type": "integer", "minimum": low, "maximum": high}, *NUMBERS)
    case({"type": "integer", "exclusiveMinimum": low, "exclusiveMaximum": high}, *NUMBERS)
for bound in [-100, -10, -1, 0, 1, 7, 10, 99, 100]:
    case({"type": "integer", "minimum": bound}, *NUMBERS)
    case({"type": "integer", "maximum": bound}, *NUMBERS)
    case({"type": "integer", "exclusiveMinimum": bound}, *NUMBERS)
    case({"type": "integer", "exclusiveMaximum": bound}, *NUMBERS)
REALS = [-10.5, -1.25, -1, -0.75, -0.5, -0.25, -0.1, 0, 0.05, 0.1, 0.15, 0.25, 0.5, 0.999, 1, 1.0, 1.01, 1.5, 2, 9.99, 10, 10.01, 100.5]
for low, high in [(0, 1), (-1, 1), (0.1, 0.5), (-0.5, 0.25), (0.25, 10), (-10.5, -0.1), (1, 1.5), (0, 100)]:
    case({"type": "number", "minimum": low, "maximum": high}, *REALS)
    case({"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": high}, *REALS)
for bound in [-1.25, 0, 0.1, 1, 10]:
    case({"type": "number", "minimum": bound}, *REALS)
    case({"type": "number", "maximum": bound}, *REALS)
    case({"type": "number", "exclusiveMinimum": bound}, *REALS)
    case({"type": "number", "exclusiveMaximum": bound}, *REALS)
case({"type": "number", "minimum": 0}, 1, narrow=[1e22])
for divisor in [1, 2, 3, 5, 7, 10, 12, 100, 1000]:
    case({"type": "integer", "multipleOf": divisor}, *NUMBERS, 3000, 84, -84)
case({"minimum": 3}, 2, 3, 4)
case({"type": "integer", "minimum": 0, "exclusiveMinimum": 5, "maximum": 8, "exclusiveMaximum": 20}, *NUMBERS)

# Strings.
STRINGS = ["", "a", "ab", "abc", "abcd", "abcde", "é", "éé", "ééé", "😀😀", 'a"b', "a\nb", "\\\\\\"]
for low, high in [(0, 0), (0, 2), (1, 1), (1, 3), (2, 4), (3, 3)]:
    case({"type": "string", "minLength": low, "maxLength": high}, *STRINGS)
for low in [0, 1, 2, 5]:
    case({"type": "string", "minLength": low}, *STRINGS, 5)
    case({"type": "string", "maxLength": low}, *STRINGS, 5)
PATTERNS = {
    "^a+$": ["", "a", "aaa", "ab", "ba"],
    "a": ["", "a", "ba", "ab", "b", 'x"a'],
    "^a": ["a", "ab", "ba", ""],
    "b$": ["b", "ab", "ba"],
    "^[a-z]{2,4}$": ["a", "ab", "abcd", "abcde", "AB"],
    "^(foo|bar)$": ["foo", "bar", "foobar", "fo"],
    "^foo|bar$": ["foo", "foox", "xbar", "bar", "x"],
    "^\\d{3}-\\d{4}$": ["555-1234", "5551234", "55-1234"],
    "^[A-Z][a-z]*( [A-Z][a-z]*)*$": ["Ada", "Ada Lovelace", "ada", "Ada  L"],
    "^[^0-9]+$": ["abc", "a1", "é"],
    "^\\w+@\\w+\\.com$": ["a@b.com", "a@b.org", "@b.com"],
    "^\\s*x\\s*$": ["x", " x ", "\tx\n", "y"],
    "^a{0}$": ["", "a"],
    "^(?:a|b)*c?$": ["", "ababc", "cc", "c"],
    "^\\u0041\\x42$": ["AB", "A", "ab"],
    "^[\\\\\"]+$": ["\\", '"', '"\\"', "x"],
    "^.$": ["a", "é", "😀", "", "ab", "\n"],
    "^(a|ab)(c|bcd)(d*)$": ["abcd", "ac", "acd", "abcdd", "abd"],
    "^x*?y+?z??$": ["y", "xyz", "xxyyz", "x"],
}
for pattern, values in PATTERNS.items():
    case({"type": "string", "pattern": pattern}, *values)
case({"type": "string", "pattern": "^a+$", "minLength": 2, "maxLength": 3}, "a", "aa", "aaa", "aaaa", "ab")
case({"type": "string", "pattern": "^[a-z\"]*$", "maxLength": 3}, "", '"""', 'a"b', "abcd", '""""')
case({"type": "string", "pattern": "x", "minLength": 3}, "x", "xx", "xyz", "yyx", "yyy")
case({"type": "string", "pattern": "^[é😀\n]+$", "minLength": 2, "maxLength": 2}, "é", "é😀", "\né", "éé😀")
FORMATS = {
    "date": ["2024-02-28", "2024-13-01", "2024-00-10", "2024-04-31", "24-01-01", "2023-12-31"],
    "time": ["12:00:00Z", "23:59:59+01:00", "24:00:00Z", "12:00Z"],
    "date-time": ["2024-02-28T12:00:00Z", "2024-02-28 12:00:00", "2024-02-28T12:00:00.123-08:00"],
    "email": ["a@b.co", "joe.bloggs@example.com", "nope"],
    "ipv4": ["127.0.0.1", "256.0.0.1", "1.2.3", "255.255.255.255"],
    "ipv6": ["::1", "2001:db8::8a2e", "1:2:3:4:5:6:7:8", "1::2::3", "12345::"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123e4567", "123E4567-E89B-12D3-A456-426614174000"],
}
for name, values in FORMATS.items():
    # What checks times is not part of every installation.
    checks = name != "time" and name != "date-time"
    good = [v for v in values if not checks or jsonschema.Draft202012Validator(
        {"format": name}, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER).is_valid(v)]
    if name == "time":
        good = values[:2]
    if name == "date-time":
        good = [values[0], values[2]]
    CASES.append({"schema": {"type": "string", "format": name}, "accept": [text(v, 0) for v in good],
                  "reject": [text(v, 0) for v in values if v not in good], "narrow": []})
case({"type": "string", "format": "date"}, narrow=["2024-02-29"])

# Given values.
case({"const": 5}, 5, 6, "5")
case({"const": "a\"b"}, 'a"b', "a")
case({"const": {"a": [1, {"b": None}]}}, {"a": [1, {"b": None}]}, {"a": [1]}, {})
case({"const": []}, [], [1])
case({"const": {}}, {}, [])
case({"const": None}, None, 0)
case({"const": -1.5}, -1.5, 1.5)
case({"enum": ["red", "green", "blue"]}, "red", "blue", "yellow", "", 1)
case({"enum": ["a", 1, None, True, [1, 2], {"k": "v"}]}, "a", 1, None, True, False, [1, 2], [1], {"k": "v"}, {})
case({"enum": ["a", "ab", "abc"]}, "a", "ab", "abc", "abcd", "")
case({"type": "string", "enum": ["a", 1]}, "a", 1)
case({"type": ["integer", "null"], "enum": ["a", 1, None]}, "a", 1, None)
case({"enum": [f"value {i}" for i in range(500)]}, "value 0", "value 499", "value 500", "value")

# Objects.
AB = {"a": {"type": "integer"}, "b": {"type": "string"}}
OBJECTS = [{}, {"a": 1}, {"b": "x"}, {"a": 1, "b": "x"}, {"a": "x"}, {"b": 1}, {"a": 1, "b": 2}, [], None]
for required in [[], ["a"], ["b"], ["a", "b"]]:
    case({"type": "object", "properties": AB, "required": required, "additionalProperties": False},
         *OBJECTS, {"a": 1, "c": 1}, {"c": 1})
    open_object = {"type": "object", "properties": AB, "required": required, "additionalProperties": True}
    case(open_object, *OBJECTS, {"a": 1, "b": "x", "c": [1]})
    case({"type": "object", "properties": AB, "required": required, "additionalProperties": {"type": "null"}},
         *OBJECTS, {"a": 1, "b": "x", "c": None}, {"a": 1, "b": "x", "c": None, "d": None}, {"a": 1, "b": "x", "c": 1})
case({"type": "object", "properties": AB, "required": ["a"]}, {"a": 1}, {"a": 1, "b": "x"}, {}, narrow=[{"b": "x", "a": 1}, {"a": 1, "c": 1}])
case({"properties": AB}, {"a": 1}, narrow=[5, "x"])
case({"type": "object", "additionalProperties": {"type": "integer"}}, {}, {"x": 1}, {"x": 1, "y": 2}, {"x": "1"})
case({"type": "object", "additionalProperties": False}, {}, {"a": 1})
case({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2},
     {}, {"x": 1}, {"x": 1, "y": 2}, {"x": 1, "y": 2, "z": 3})
case({"type": "object", "minProperties": 2}, {}, {"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3})
case({"type": "object", "patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": False},
     {}, {"x_a": 1}, {"x_a": 1, "x_b": 2}, {"y": 1}, {"x_a": "1"})
case({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}, {}, {"abc": 1}, {"A": 1}, {"a1": 1})
case({"type": "object", "propertyNames": {"maxLength": 2}, "additionalProperties": {"type": "null"}},
     {}, {"ab": None}, {"abc": None}, {"a": 1})
case({"type": "object", "required": ["a"]}, {"a": 1}, {}, {"a": None})
case({"type": "object", "properties": {"a": False, "b": {"type": "null"}}}, {}, {"b": None}, {"a": 1})
case({"type": "object", "properties": {"a": {}, "b": True}, "required": ["a", "b"]}, {"a": [1], "b": {"x": 1}}, {"a": 1})
case({"type": "object", "properties": {"quo\"te": {"type": "null"}, "é": {"type": "null"}, "line\n": {"type": "null"}}},
     {'quo"te': None}, {"é": None}, {'quo"te': None, "é": None, "line\n": None})
case({"type": "object", "properties": {"a": {"type": "null"}, "ab": {"type": "null"}}, "additionalProperties": {"type": "integer"}},
     {"a": None, "ab": None}, {"a": 1}, {"abc": 1}, {"b": 1}, {"": 1}, {"aa": 1}, {"a": None, "b\"": 2})
case({"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(60)}},
     {}, {"p0": 1}, {"p59": 1}, {"p3": 1, "p30": 2, "p58": 3}, {"p7": "x"}, narrow=[{"p9": 1, "p8": 1}, {"p60": 1}])
case({"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(8)}, "required": ["p3", "p5"], "additionalProperties": False},
     {}, {"p3": 1}, {"p3": 1, "p5": 1}, {"p0": 0, "p3": 1, "p4": 1, "p5": 1, "p7": 7}, {"p5": 1, "p7": 1})

# Arrays.
ARRAYS = [[], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4], ["a"], [1, "a"], [None], {}, "x"]
case({"type": "array", "items": {"type": "integer"}}, *ARRAYS)
for low, high in [(0, 0), (0, 1), (1, 1), (1, 3), (2, 2), (3, 9), (2, 1)]:
    case({"type": "array", "items": {"type": "integer"}, "minItems": low, "maxItems": high}, *ARRAYS)
    case({"type": "array", "minItems": low, "maxItems": high}, *ARRAYS)
for low in [0, 1, 3]:
    case({"type": "array", "minItems": low}, *ARRAYS)
    case({"type": "array", "maxItems": low}, *ARRAYS)
PREFIX = [{"type": "integer"}, {"type": "string"}]
PREFIXED = [[], [1], [1, "a"], ["a"], [1, 2], [1, "a", None], [1, "a", 5], [1, "a", None, None]]
case({"type": "array", "prefixItems": PREFIX, "items": False}, *PREFIXED)
case({"type": "array", "prefixItems": PREFIX, "items": {"type": "null"}}, *PREFIXED)
case({"type": "array", "prefixItems": PREFIX, "items": {"type": "null"}, "minItems": 2}, *PREFIXED)
case({"type": "array", "prefixItems": PREFIX, "items": {"type": "null"}, "minItems": 3, "maxItems": 3}, *PREFIXED)
case({"type": "array", "prefixItems": PREFIX, "items": True, "maxItems": 1}, *PREFIXED)
case({"type": "array", "prefixItems": PREFIX}, [], [1], [1, "a"], [1, 2], narrow=[[1, "a", 5]])
case({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": PREFIX, "additionalItems": False}, *PREFIXED)
case({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": PREFIX, "additionalItems": {"type": "null"}}, *PREFIXED)
case({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}, [], [[]], [[True], []], [True], [[1]])
case({"type": "array", "items": False}, [], [1])
case({"items": {"type": "null"}}, [], [None], [1])
case({"type": "array", "items": {"type": "null"}, "uniqueItems": False}, [], [None, None])

# References.
case({"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}, 1, "a")
case({"definitions": {"n": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/definitions/n"}}, [], [1], ["a"])
TREE = {
    "$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                       "required": ["v", "next"], "additionalProperties": False}},
    "$ref": "#/$defs/node",
}
case(TREE, {"v": 1, "next": None}, {"v": 1, "next": {"v": 2, "next": None}}, {"v": 1}, {"v": 1, "next": {"v": "x", "next": None}})
case({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}, "additionalProperties": False},
     {}, {"children": []}, {"children": [{}, {"children": [{}]}]}, {"children": [1]})
case({"$defs": {"a/b": {"type": "null"}, "c~d": {"type": "boolean"}, "e f": {"type": "integer"}},
      "type": "array", "prefixItems": [{"$ref": "#/$defs/a~1b"}, {"$ref": "#/$defs/c~0d"}, {"$ref": "#/$defs/e%20f"}], "items": False},
     [None, True, 1], [None, None], [1])
case({"$defs": {"n": {"type": "integer", "minimum": 0}}, "$ref": "#/$defs/n", "maximum": 5}, -1, 0, 5, 6)
case({"$defs": {"s": {"type": "string"}}, "type": "object", "properties": {"x": {"$ref": "#/$defs/s", "description": "a name"}}},
     {"x": "a"}, {"x": 1})

# Combinations.
case({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 1, "a", None, 1.5)
case({"anyOf": [{"type": "integer", "minimum": 10}, {"type": "integer", "maximum": 0}]}, -1, 0, 5, 10)
case({"oneOf": [{"type": "integer"}, {"type": "string"}]}, 1, "a", None)
case({"oneOf": [{"const": 1}, {"const": 2}]}, 1, 2, 3)
SHAPES = {"oneOf": [
    {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
    {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]}]}
case(SHAPES, {"kind": "circle", "r": 1}, {"kind": "square", "side": 2}, {"kind": "circle", "side": 1}, {"kind": "x"})
case({"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 5}]}, 2, 3, 5, 6, "a")
case({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}]},
     {"a": 1, "b": 2}, {"a": 1}, {"b": 1}, {})
case({"allOf": [{"$ref": "#/$defs/base"}], "$defs": {"base": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
      "properties": {"name": {"type": "string"}}}, {"name": "x", "id": 1}, {"name": "x"}, narrow=[{"id": 1, "name": "x"}])
case({"allOf": [{"properties": {"a": {"type": "integer"}}, "additionalProperties": False}, {"properties": {"b": {}}}], "type": "object"},
     {"a": 1}, {}, {"b": 1}, {"a": 1, "b": 2})
case({"allOf": [{"enum": [1, 2, 3]}, {"enum": [2, 3, 4]}]}, 1, 2, 3, 4)
case({"allOf": [{"type": ["integer", "string"]}, {"type": ["number", "null"]}]}, 1, 1.5, "a", None)
case({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
     {"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {})
case({"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "X", "default": None}, 1, None, "a")
case({"anyOf": [True, {"type": "null"}]}, *ANY)
case({"anyOf": [{"anyOf": [{"type": "null"}, {"type": "boolean"}]}, {"type": "integer"}]}, None, True, 1, "a")
case({"allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}]}, 1, "a", None)
case({"type": "integer", "allOf": [{"allOf": [{"minimum": 1}]}, {"allOf": [{"maximum": 2}]}]}, 0, 1, 2, 3)

# What tools and pydantic write.
PERSON = {
    "title": "Person", "type": "object", "additionalProperties": False, "required": ["name", "age", "address"],
    "properties": {
        "name": {"title": "Name", "type": "string", "minLength": 1},
        "age": {"title": "Age", "type": "integer", "minimum": 0, "maximum": 150},
        "email": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        "address": {"$ref": "#/$defs/Address"}},
    "$defs": {"Address": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string", "pattern": "^\\d{5}$"}},
                          "required": ["city", "zip"], "additionalProperties": False}},
}
HOME = {"city": "Köln", "zip": "50667"}
case(PERSON, {"name": "Ada", "age": 36, "address": HOME}, {"name": "", "age": 36, "address": HOME}, {"name": "Ada", "age": 151, "address": HOME},
     {"name": "Ada", "age": 36, "email": None, "tags": ["x", "y"], "address": HOME}, {"name": "Ada", "age": 36, "address": {"city": "x"}},
     {"name": "Ada", "age": 36, "address": {"city": "x", "zip": "1"}}, {"name": "Ada", "age": 36})
case({"type": "object", "properties": {"location": {"type": "string", "description": "City"}, "unit": {"type": "string", "enum": ["c", "f"]}},
      "required": ["location"]}, {"location": "Paris"}, {"location": "Paris", "unit": "c"}, {"location": "Paris", "unit": "k"}, {"unit": "c"})

REFUSED = [
    {"not": {"type": "null"}}, {"if": {"type": "null"}, "then": {}},
    {"type": "array", "uniqueItems": True}, {"type": "array", "contains": {"type": "null"}}, {"unevaluatedProperties": False},
    {"type": "string", "pattern": "(?=a)"}, {"type": "string", "pattern": "(a)\\1"}, {"type": "string", "pattern": "("},
    {"type": "string", "pattern": "a**"}, {"type": "string", "pattern": "\\bx"}, {"type": "string", "pattern": "[b-a]"},
    {"type": "string", "format": "credit-card"}, {"type": "fish"}, {"type": 5}, {"type": []}, 5, [], "string", None,
    {"$ref": "https://example.com/schema"}, {"$ref": "#/nowhere"}, {"$ref": 5}, {"anyOf": []}, {"anyOf": 5}, {"allOf": {}},
    {"enum": 5}, {"properties": 5}, {"type": "object", "properties": {"a": 5}}, {"type": "object", "required": "a"},
    {"type": "object", "required": [1]}, {"type": "string", "minLength": -1}, {"type": "string", "minLength": "x"},
    {"type": "integer", "minimum": "x"}, {"type": "integer", "multipleOf": 0},
    {"type": "number", "multipleOf": 0.12345}, {"oneOf": [{"type": "integer"}, {"type": "number"}]}, {"oneOf": [{}, {"type": "null"}]},
    {"minContains": 1}, {"frobnicate": True},
    {"type": "object", "properties": {"a": {}}, "patternProperties": {"b": {}}}, {"enum": ["a"], "minLength": 3},
    {"type": "array", "items": {"type": "string", "pattern": "^(?<!a)$"}}, False, {"enum": []}, {"type": "integer", "minimum": 5, "maximum": 4},
    {"allOf": [{"type": "null"}, {"type": "integer"}]}, {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}, "$ref": "#/$defs/a"},
    {"$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}}, "$ref": "#/$defs/a"},
]

if __name__ == "__main__":
    CASES = [one for one in CASES if one["accept"] or one["narrow"]]
    path = pathlib.Path(__file__).parent / "data" / "schema_cases.json"
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in CASES)
    refused = ",\n".join(json.dumps(one, ensure_ascii=False) for one in REFUSED)
    path.write_text('{"cases":[\n' + lines + '\n],"refused":[\n' + refused + "\n]}\n", encoding="utf-8")
    print(len(CASES), "schemas,", len(REFUSED), "refused,", sum(len(c["accept"]) + len(c["reject"]) for c in CASES), "documents")
