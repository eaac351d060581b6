#!/usr/bin/env python3
"""Writes the corpus as JSON lines, or the held-out questions. Standard library only; the same arguments, the same bytes.

    make_corpus.py --documents 50000 > corpus.jsonl
    make_corpus.py --held-out > held_out.jsonl
"""

import argparse
import json
import random
from collections.abc import Iterator

from corpus.chats import held_out_lines, training_document

HELD_OUT_PER_KIND = 16  # 31 kinds, about 500 questions


def documents(seed: int, shard: int, count: int) -> Iterator[dict]:
    """`count` documents of one of the independent shards of the corpus."""
    rng = random.Random(f"training {seed} {shard}")
    return (training_document(rng) for _ in range(count))


def held_out(seed: int) -> list[dict]:
    """The held-out questions, sorted by kind."""
    lines = held_out_lines(random.Random(f"held out {seed}"), HELD_OUT_PER_KIND)
    return sorted(lines, key=lambda line: line["kind"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--shard", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-out", action="store_true", help="the held-out questions instead")
    options = parser.parse_args()
    lines = held_out(options.seed) if options.held_out else documents(options.seed, options.shard, options.documents)
    for line in lines:
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
