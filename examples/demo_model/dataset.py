"""The corpus as rows of tokens: documents packed side by side, made by all cores at once."""

import multiprocessing
from itertools import islice
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from make_corpus import documents
from render import MAX_LENGTH, encode

OPEN_ROWS = 16  # that still take a document; more of them fill rows little better
SHARDS = 64  # a fixed number, so that the corpus does not depend on the machine
BLOCK = 500  # documents encoded at a time


def packed(tokenizer: Tokenizer, seed: int, shard: int, count: int) -> np.ndarray:
    """Rows [R, 3, MAX_LENGTH] of tokens, their weights (render.py) and their positions in their documents.

    A position of 0 starts a document. Padding has weight 0 and position 0.
    """
    rows: list[np.ndarray] = []
    room: list[tuple[int, int]] = []  # row, tokens in it
    source = documents(seed, shard, count)
    while block := list(islice(source, BLOCK)):
        for ids, weights in encode(tokenizer, block):
            size = min(len(ids), MAX_LENGTH)
            place = next((i for i, (_, used) in enumerate(room) if used + size <= MAX_LENGTH), None)
            if place is None:
                rows.append(np.zeros((3, MAX_LENGTH), np.int16))
                room = [*room, (len(rows) - 1, 0)][-OPEN_ROWS:]
                place = len(room) - 1
            row, used = room[place]
            rows[row][:, used:used + size] = ids[:size], weights[:size], range(size)
            room[place] = row, used + size
    return np.stack(rows)


def shard_of(arguments: tuple[Path, int, int, int]) -> np.ndarray:
    path, *rest = arguments
    return packed(Tokenizer.from_file(str(path)), *rest)


def rows_of_corpus(tokenizer: Path, seed: int, count: int) -> np.ndarray:
    """Rows [R, 3, MAX_LENGTH] of about `count` documents."""
    with multiprocessing.get_context("spawn").Pool() as pool:
        work = [(tokenizer, seed, shard, count // SHARDS) for shard in range(SHARDS)]
        return np.concatenate(pool.map(shard_of, work, chunksize=1))
