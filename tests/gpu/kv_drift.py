#!/usr/bin/env python3
"""kv_drift.py WEFT MODEL TEXTS: what the type of keys and values does to a model's logits.

TEXTS is held_out.jsonl of the demo model (every fifth conversation; its answer counts) or a golden_float64.json (what
follows each prompt counts). Prints for each type the perplexity, the mean KL divergence from f32's probabilities, how
often the best token is f32's, and the root mean square of the logits' differences.
"""

import json
import math
import subprocess
import sys

TYPES = ["f32", "f16", "bf16", "int8", "fp8"]


def run(*arguments, text=""):
    return json.loads(subprocess.run(arguments, input=text, text=True, capture_output=True, check=True).stdout)


def conversation(weft, model, row):
    """Returns the tokens of a conversation and how many of them come before its answer."""
    turns = [(message["role"], message["content"]) for message in row["messages"]]
    asked = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns) + "<|im_start|>assistant\n"
    tokenize = [weft, "tokenize", model, "-", "--ids-only"]
    before = run(*tokenize, text=asked)
    return run(*tokenize, text=asked + row["answer"] + "<|im_end|>"), len(before)


def read_texts(weft, model, path):
    with open(path, encoding="utf-8") as file:
        if path.endswith(".jsonl"):
            return [conversation(weft, model, json.loads(line)) for line in list(file)[::5]]
        cases = json.load(file)["cases"]
    return [(case["prompt_tokens"] + case["greedy_tokens"], len(case["prompt_tokens"])) for case in cases]


def logits_of(weft, model, kv_dtype, ids):
    return run(weft, "logits", model, "--kv-dtype", kv_dtype, "--json", "--ids", ",".join(map(str, ids)))["logits"]


def log_probabilities(logits):
    most = max(logits)
    total = most + math.log(sum(math.exp(logit - most) for logit in logits))
    return [logit - total for logit in logits]


def best_of(numbers):
    return max(range(len(numbers)), key=numbers.__getitem__)


def main():
    weft, model, path = sys.argv[1:4]
    texts = read_texts(weft, model, path)
    reference = {}
    for kv_dtype in TYPES:
        tokens = same = 0
        surprise = divergence = squares = 0.0
        for text, (ids, before) in enumerate(texts):
            rows = logits_of(weft, model, kv_dtype, ids)[before - 1 : -1]
            wanted = reference.setdefault(text, rows)
            for row, exact, token in zip(rows, wanted, ids[before:]):
                own, its = log_probabilities(row), log_probabilities(exact)
                tokens += 1
                same += best_of(row) == best_of(exact)
                surprise -= own[token]
                divergence += sum(math.exp(b) * (b - a) for a, b in zip(own, its))
                squares += sum((a - b) ** 2 for a, b in zip(row, exact)) / len(row)
        print(
            f"{kv_dtype:5} {tokens} tokens, perplexity {math.exp(surprise / tokens):.5f}, divergence"
            f" {divergence / tokens:.1e}, same best token {same / tokens:.4f}, logits off by {math.sqrt(squares / tokens):.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
