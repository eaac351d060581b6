#!/usr/bin/env python3
"""held_out.py WEFT MODEL QUESTIONS DEVICE...: whether a chat model answers its held-out questions on each device.

QUESTIONS has lines of {"messages", "answer"}; a device may be a partition of several. Prints the share of right answers
of each device and how many differ from the first one's; fails when they differ in more than one of a hundred, or fewer
than nine of ten are right.
"""

import json
import pathlib
import subprocess
import sys
import tempfile


def answers(weft: str, model: str, questions: list[dict], device: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        requests = pathlib.Path(folder, "requests.jsonl")
        results = pathlib.Path(folder, "results.jsonl")
        with requests.open("w") as out:
            for number, question in enumerate(questions):
                body = {"messages": question["messages"], "temperature": 0, "max_completion_tokens": 80}
                line = {"custom_id": str(number), "method": "POST", "url": "/v1/chat/completions", "body": body}
                out.write(json.dumps(line) + "\n")
        option = "--partition" if set(device) & set(",|") else "--device"
        command = [weft, "batch", model, str(requests), str(results), option, device]
        subprocess.run(command, check=True)
        found = {}
        for line in results.read_text().splitlines():
            result = json.loads(line)
            body = result["response"]["body"]
            found[int(result["custom_id"])] = body["choices"][0]["message"]["content"]
        return [found[number] for number in range(len(questions))]


def main() -> int:
    weft, model, path, *devices = sys.argv[1:]
    questions = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    first = None
    verdict = 0
    for device in devices:
        got = answers(weft, model, questions, device)
        first = first or got
        right = sum(one.strip() == question["answer"].strip() for one, question in zip(got, questions))
        differ = sum(a != b for a, b in zip(got, first))
        print(f"{device}: {right} of {len(questions)} right, {differ} unlike {devices[0]}")
        if differ * 100 > len(questions) or right * 10 < len(questions) * 9:
            verdict = 1
    return verdict


if __name__ == "__main__":
    sys.exit(main())
