#!/usr/bin/env python3
"""Writes the corpus as JSON lines, or the held-out questions. Standard library only; the same arguments, the same bytes.

    make_corpus.py --documents 50000 > corpus.jsonl
    make_corpus.py --held-out > held_out.jsonl
    make_corpus.py --held-out-tools > held_out_tools.jsonl
"""

import argparse
import json
import random
from collections.abc import Iterator

from corpus.chats import held_out_lines, tool_lines, training_document

HELD_OUT_PER_KIND = 16  # 31 kinds, about 500 questions, and 15 with tools or JSON


def documents(seed: int, shard: int, count: int) -> Iterator[dict]:
    """`count` documents of one of the independent shards of the corpus."""
    rng = random.Random(f"training {seed} {shard}")
    return (training_document(rng) for _ in range(count))


def held_out(seed: int) -> list[dict]:
    """The held-out questions, sorted by kind."""
    lines = held_out_lines(random.Random(f"held out {seed}"), HELD_OUT_PER_KIND)
    return sorted(lines, key=lambda line: line["kind"])


def held_out_tools(seed: int) -> list[dict]:
    """The held-out questions of chats with tools, or with answers as JSON, sorted by kind."""
    lines = tool_lines(random.Random(f"held out tools {seed}"), HELD_OUT_PER_KIND)
    return sorted(lines, key=lambda line: line["kind"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--shard", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-out", action="store_true", help="the held-out questions instead")
    parser.add_argument("--held-out-tools", action="store_true", help="those with tools or with answers as JSON instead")
    options = parser.parse_args()
    if options.held_out:
        lines = held_out(options.seed)
    elif options.held_out_tools:
        lines = held_out_tools(options.seed)
    else:
        lines = documents(options.seed, options.shard, options.documents)
    for line in lines:
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
