#!/usr/bin/env python3
"""The peer of tokenizer_bench: Hugging Face's `tokenizers` on one thread. Usage: tokenizers_peer.py TOKENIZER_JSON TEXT.

Prints "ready", then for each line "whole" or "lines" on its standard input the seconds of processor time that encoding
TEXT took, as one call or line by line.
"""

import os
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizers import Tokenizer  # noqa: E402: reads the two variables above


def main() -> int:
    tokenizer = Tokenizer.from_file(sys.argv[1])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with open(sys.argv[2], encoding="utf-8", newline="") as file:
        text = file.read()
    lines = text.split("\n")
    print("ready", flush=True)
    for order in sys.stdin:
        begin = time.thread_time()
        for part in lines if order.strip() == "lines" else [text]:
            tokenizer.encode(part, add_special_tokens=False)
        print(time.thread_time() - begin, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
