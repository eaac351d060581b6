#!/usr/bin/env python3
"""Writes the corpus as JSON lines, or held-out questions. Standard library only; the same arguments, the same bytes.

    make_corpus.py --documents 50000 > corpus.jsonl
    make_corpus.py --held-out > held_out.jsonl
    make_corpus.py --held-out-tools > held_out_tools.jsonl
    make_corpus.py --held-out-strings > held_out_strings.jsonl
    make_corpus.py --held-out-long > held_out_long.jsonl
"""

import argparse
import json
import random
from collections.abc import Iterator

from corpus.documents import training_document
from corpus.held_out import held_out_lines, long_lines, string_lines, tool_lines

# For each file of held-out questions, what makes its lines, and how many of each kind.
HELD_OUT = {"held-out": (held_out_lines, 16), "held-out-tools": (tool_lines, 16), "held-out-strings": (string_lines, 30),
            "held-out-long": (long_lines, 4)}


def documents(seed: int, shard: int, count: int) -> Iterator[dict]:
    """`count` documents of one of the independent shards of the corpus."""
    rng = random.Random(f"training {seed} {shard}")
    return (training_document(rng) for _ in range(count))


def held_out(name: str, seed: int) -> list[dict]:
    """The lines of one of the files, sorted by kind."""
    make, per_kind = HELD_OUT[name]
    lines = make(random.Random(f"{name.replace('-', ' ')} {seed}"), per_kind)
    return sorted(lines, key=lambda line: line["kind"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--shard", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    for name in HELD_OUT:
        parser.add_argument(f"--{name}", action="store_const", dest="held_out", const=name, help="these held-out questions instead")
    options = parser.parse_args()
    if options.held_out:
        lines = held_out(options.held_out, options.seed)
    else:
        lines = documents(options.seed, options.shard, options.documents)
    for line in lines:
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
