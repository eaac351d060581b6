#!/usr/bin/env python3
"""How many held-out questions the model answers with exactly the expected text, by kind. Greedy decoding.

    eval.py [--model model] [--questions held_out.jsonl ...] [--dtype float32] [--wrong]

Runs on the GPU if there is one, else on the CPU. The weights are the bfloat16 ones of the checkpoint; --dtype is what
they are computed with.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import torch
from tokenizers import Tokenizer

from model import Cache, Llama, load
from render import END_OF_TEXT, IM_END, prompt

HERE = Path(__file__).resolve().parent
FILES = [HERE / f"held_out{name}.jsonl" for name in ("", "_tools", "_strings", "_long")]
ROWS = 64  # decoded at a time, if their prompts are short
POSITIONS = 64 * 1024  # of all rows at most
CHUNK = 512  # tokens of a prompt at a time
LONGEST_ANSWER = 200  # tokens


@torch.inference_mode()
def greedy(model: Llama, prompts: list[list[int]], ends: set[int]) -> list[list[int]]:
    """Returns the model's continuation of each prompt, without the end token."""
    device = model.frequencies.device
    lengths = torch.tensor([len(ids) for ids in prompts], device=device)
    longest = max(map(len, prompts))
    limit = min(LONGEST_ANSWER, model.shape.max_position_embeddings - longest)
    tokens = torch.tensor([ids + [0] * (longest - len(ids)) for ids in prompts], device=device)
    cache = Cache(model, len(prompts), longest + limit)
    places = torch.arange(longest, device=device).expand(len(prompts), -1)
    hidden = torch.cat([cache.step(model, tokens[:, i:i + CHUNK], places[:, i:i + CHUNK]) for i in range(0, longest, CHUNK)], dim=1)
    last = hidden[torch.arange(len(prompts), device=device), lengths - 1]
    answers: list[list[int]] = [[] for _ in prompts]
    running = set(range(len(prompts)))
    for place in range(limit):
        chosen = model.logits(last).argmax(-1)
        for row, token in enumerate(chosen.tolist()):
            if row in running and token in ends:
                running.remove(row)
            elif row in running:
                answers[row].append(token)
        if not running:
            break
        last = cache.step(model, chosen[:, None], (lengths + place)[:, None])[:, 0]
    return answers


def answer_all(model: Llama, tokenizer: Tokenizer, questions: list[dict]) -> list[str]:
    texts = [prompt(question) + question.get("begun", "") for question in questions]
    prompts = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))  # rows of like length waste little
    ends = {tokenizer.token_to_id(IM_END), tokenizer.token_to_id(END_OF_TEXT)}
    answers = [""] * len(prompts)
    while order:
        rows = [i for place, i in enumerate(order[:ROWS]) if (place + 1) * len(prompts[i]) <= POSITIONS]
        order = order[len(rows):]
        for row, ids in zip(rows, greedy(model, [prompts[i] for i in rows], ends)):
            answers[row] = tokenizer.decode(ids).strip()
    return answers


def is_right(question: dict, answer: str) -> bool:
    """Whether it is the expected text; of an answer that is begun for the model, only what it goes on with is expected."""
    return answer.startswith(question["answer"]) if "begun" in question else answer == question["answer"]


def print_table(name: str, questions: list[dict], answers: list[str]) -> None:
    asked = Counter(q["kind"] for q in questions)
    right = Counter(q["kind"] for q, answer in zip(questions, answers) if is_right(q, answer))
    print(f"\n{name}\n\n| kind | questions | right | share |\n|---|---:|---:|---:|")
    for kind in sorted(asked):
        print(f"| {kind} | {asked[kind]} | {right[kind]} | {right[kind] / asked[kind]:.1%} |")
    print(f"| all | {asked.total()} | {right.total()} | {right.total() / asked.total():.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=HERE / "model")
    parser.add_argument("--questions", type=Path, nargs="+", default=FILES)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--wrong", action="store_true", help="show the questions that are answered wrongly")
    options = parser.parse_args()
    model = load(options.model, getattr(torch, options.dtype), "cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    for path in options.questions:
        questions = [json.loads(line) for line in path.read_text().splitlines()]
        answers = answer_all(model, tokenizer, questions)
        for question, answer in zip(questions, answers):
            if options.wrong and not is_right(question, answer):
                print(f"{question['kind']}: {question['messages'][-1]['content'][-200:]!r}\n"
                      f"  expected {question['answer']!r}\n  got      {answer!r}")
        print_table(path.stem, questions, answers)


if __name__ == "__main__":
    main()
