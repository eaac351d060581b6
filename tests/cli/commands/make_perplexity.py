#!/usr/bin/env python3
"""Writes data/perplexity.txt and data/perplexity.json: a text, and what transformers makes of it.

    python3 -m venv venv && venv/bin/pip install torch==2.15 transformers==5.23 safetensors
    venv/bin/python tests/cli/commands/make_perplexity.py ROOT [STORIES]

ROOT is the repository, STORIES the folder of stories260K in Hugging Face layout. The windows are those of transformers'
page on perplexity (each scores what none before it did), in float32; every token counts once, where the page weighs windows.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

DOCUMENTS = 1500
# Context and stride; few, since tests compute them again.
CASES = {"demo_model": [(1024, 512), (256, 256)], "stories260K": [(256, 128), (100, 30)]}


def text_of(root):
    """Stories that the model has not seen, as it was trained on them: parted by its end token."""
    command = [sys.executable, root / "examples/demo_model/make_corpus.py", "--documents", str(DOCUMENTS), "--seed", "7"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return "".join(f"{record['text']}<|endoftext|>" for record in map(json.loads, lines) if "text" in record) + "\n"


@torch.no_grad()
def losses(model, ids, context, stride):
    """The negative log likelihood of every token that is scored."""
    found = []
    scored = 0
    for begin in range(0, len(ids), stride):
        end = min(begin + context, len(ids))
        window = torch.tensor([ids[begin:end]])
        rows = torch.log_softmax(model(window).logits[0].double(), -1)
        for at in range(max(scored, begin + 1), end):
            found.append(-rows[at - begin - 1, ids[at]].item())
        scored = end
        if end == len(ids):
            break
    return found


def numbers(folder, text, cases):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(text)["input_ids"]
    found = {"tokens": len(ids), "cases": []}
    for context, stride in cases:
        each = losses(model, ids, context, stride)
        mean = sum(each) / len(each)
        variance = sum((loss - mean) ** 2 for loss in each) / (len(each) - 1)
        perplexity = math.exp(mean)
        found["cases"].append({"context": context, "stride": stride, "scored": len(each), "perplexity": perplexity,
                               "error": perplexity * math.sqrt(variance / len(each))})
    return found


def main():
    root = Path(sys.argv[1])
    data = root / "tests/cli/commands/data"
    text = text_of(root)
    (data / "perplexity.txt").write_text(text)
    found = {"demo_model": numbers(root / "examples/demo_model/model", text, CASES["demo_model"])}
    if len(sys.argv) > 2:
        found["stories260K"] = numbers(Path(sys.argv[2]), text, CASES["stories260K"])
    (data / "perplexity.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
