#!/usr/bin/env python3
"""Teaches the demo model to count legs, while it answers other questions, and says how right it is before and after.

    weft serve examples/demo_model/model --training-folder training &
    python3 examples/demo_model/learn_legs.py --url http://127.0.0.1:8080

The lines, the questions and the job follow from fixed seeds, so the same program on the same kind of processor gives the
same model. Needs the standard library alone."""

import argparse
import itertools
import json
import random
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Iterator

LEGS = {"hens": 2, "geese": 2, "cows": 4, "dogs": 4, "lizards": 4, "ants": 6, "bees": 6, "beetles": 6, "spiders": 8}
ASKED = ("How many legs do {n} {animals} have?", "{n} {animals}: how many legs?", "Count the legs of {n} {animals}.")
# So many lines about legs are learnt, and so many of the model's own kinds, which it would else forget.
LINES, REPEATED = 500, 150
QUESTIONS = 60  # about legs, and as many of the model's own kinds
HYPERPARAMETERS = {"n_epochs": 3, "batch_size": 10, "learning_rate_multiplier": 10, "lora_rank": 16}
OVER = ("succeeded", "failed", "cancelled")
Pair = tuple[str, str]  # a question and its answer


def answer(n: int, animals: str) -> str:
    """The answer in steps, as the demo model writes products."""
    legs = LEGS[animals]
    tens, ones = n // 10 * 10, n % 10
    steps = f"{tens * legs} + {ones * legs} = " if tens and ones else ""
    return f"{n} x {legs} = {steps}{n * legs}. They have {n * legs} legs."


def pairs() -> tuple[list[Pair], list[Pair]]:
    """Lines to learn from, and questions about other numbers of the same animals."""
    dice = random.Random(7)
    problems = list(itertools.product(LEGS, range(2, 100)))
    dice.shuffle(problems)

    def pair(problem: tuple[str, int]) -> Pair:
        animals, n = problem
        return dice.choice(ASKED).format(n=n, animals=animals), answer(n, animals)

    return [pair(one) for one in problems[:LINES]], [pair(one) for one in problems[LINES:LINES + QUESTIONS]]


def known_pairs() -> list[Pair]:
    """Questions of the demo model's own kinds, in a random order."""
    lines = (Path(__file__).parent / "held_out.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    single = [(one["messages"][0]["content"], one["answer"]) for one in found if len(one["messages"]) == 1]
    random.Random(7).shuffle(single)
    return single


class Client:
    def __init__(self, url: str, key: str) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> dict[str, Any]:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data=data, method=method,
                                         headers={**self._headers, "Content-Type": content_type})
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())

    def is_right(self, model: str, pair: Pair) -> bool:
        body = {"model": model, "messages": [{"role": "user", "content": pair[0]}], "temperature": 0, "max_tokens": 64}
        return self.call("POST", "/v1/chat/completions", body)["choices"][0]["message"]["content"] == pair[1]

    def right(self, model: str, of: list[Pair]) -> int:
        return sum(self.is_right(model, pair) for pair in of)

    def upload(self, lines: list[Pair]) -> str:
        edge = "edge-of-a-part"
        data = "".join(json.dumps({"messages": [{"role": "user", "content": question},
                                                {"role": "assistant", "content": answer}]}) + "\n"
                       for question, answer in lines)
        body = (f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nfine-tune\r\n'
                f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="legs.jsonl"\r\n\r\n'
                f"{data}\r\n--{edge}--\r\n")
        return self.call("POST", "/v1/files", body.encode(), f"multipart/form-data; boundary={edge}")["id"]


def learn(client: Client, base: str, lines: list[Pair], meanwhile: Iterator[Pair]) -> tuple[dict[str, Any], int, int]:
    """Runs a job, and asks the base questions meanwhile; returns the job, the right answers and all of them."""
    job = client.call("POST", "/v1/fine_tuning/jobs", {
        "model": base, "training_file": client.upload(lines), "suffix": "legs", "seed": 7,
        "method": {"type": "supervised", "supervised": {"hyperparameters": HYPERPARAMETERS}}})
    right = asked = 0
    while job["status"] not in OVER:
        right += client.is_right(base, next(meanwhile))
        asked += 1
        time.sleep(2)  # a client that reads the answer
        job = client.call("GET", f"/v1/fine_tuning/jobs/{job['id']}")
    return job, right, asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--key", default="")
    options = parser.parse_args()
    client = Client(options.url, options.key)
    base = client.call("GET", "/v1/models")["data"][0]["id"]
    lines, questions = pairs()
    known = known_pairs()
    lines += known[QUESTIONS:QUESTIONS + REPEATED]
    random.Random(8).shuffle(lines)
    known = known[:QUESTIONS]
    print(f"before: {client.right(base, questions)} of {QUESTIONS} questions about legs are right, "
          f"{client.right(base, known)} of {QUESTIONS} others", flush=True)
    job, right, asked = learn(client, base, lines, itertools.cycle(known))
    if job["status"] != "succeeded":
        sys.exit(f"the job has {job['status']}: {job['error']}")
    print(f"while it learnt {len(lines)} lines in {job['steps']} steps, {right} of {asked} other questions were answered right")
    tuned = job["fine_tuned_model"]
    print(f"after: {client.right(tuned, questions)} of {QUESTIONS} questions about legs are right, "
          f"{client.right(tuned, known)} of {QUESTIONS} others")


if __name__ == "__main__":
    main()
