#!/usr/bin/env python3
"""check_documents.py [--url URL] [--documents N] [--temperature T]: whether a server's documents are those of their schemas.

Asks a running server (the demo model's, by default on port 8080) for N documents over the schemas of data/schema_cases.json,
hot, and holds each against Python's jsonschema. Prints how many were whole, and every one that is not valid; those are its
exit status. A document that max_tokens cut is counted and not judged.
"""

import argparse
import json
import pathlib
import sys
import urllib.request

import jsonschema


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--temperature", type=float, default=1.5)
    options = parser.parse_args()
    cases = json.loads((pathlib.Path(__file__).parent / "data" / "schema_cases.json").read_text("utf-8"))["cases"]
    whole = cut = wrong = 0
    each = 8
    for i in range((options.documents + each - 1) // each):
        schema = cases[i % len(cases)]["schema"]
        answer = post(options.url + "/v1/chat/completions", {
            "messages": [{"role": "user", "content": f"Write document {i}."}], "max_tokens": 256, "n": each, "seed": i,
            "temperature": options.temperature,
            "response_format": {"type": "json_schema", "json_schema": {"name": "document", "schema": schema}}})
        validator = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        checker = validator(schema, format_checker=validator.FORMAT_CHECKER)
        for choice in answer["choices"]:
            if choice["finish_reason"] == "length":
                cut += 1
                continue
            whole += 1
            text = choice["message"]["content"]
            try:
                checker.validate(json.loads(text))
            except (ValueError, jsonschema.ValidationError) as error:
                wrong += 1
                print("NOT VALID:", json.dumps(schema), text, str(error).splitlines()[0], sep="\n  ")
    print(f"{whole} whole documents, {wrong} of them not valid; {cut} were cut by max_tokens")
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
