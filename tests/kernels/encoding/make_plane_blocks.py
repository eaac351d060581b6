#!/usr/bin/env python3
"""Writes data/plane_blocks.bin: blocks of Inferflow's encodings and the numbers of their formula. Usage: make_plane_blocks.py

For each type: its name in 8 bytes and the number of blocks as u32, then the blocks, each followed by the FNV-1a hash
(64 bits) of its numbers as little-endian f32, every NaN as 0x7fc00000. The formula is scale * code + minimum in float32
(Inferflow, equation 2), scale and minimum as f16; of q3h_b64, codes are quotient and remainder by 11 (equation 5). The codes
are read bit by bit here, as kernels/encoding/bit_planes.h says that they lie.
"""

import struct
from pathlib import Path

import numpy as np
from make_blocks import F16, fnv1a

# Weights and bits of a code.
TYPES = {"q2_b32": (32, 2), "q3_b32": (32, 3), "q3h_b64": (64, 7), "q4_b32": (32, 4), "q4_b64": (64, 4), "q5_b64": (64, 5),
         "q6_b64": (64, 6), "q8_b32": (32, 8)}
RANDOM = 10


def codes_of(name, data):
    weights, bits = TYPES[name]
    count = weights // 2 if name == "q3h_b64" else weights
    codes = [0] * count
    at, below = 0, 0
    for width in (8, 4, 2, 1):
        if not bits & width:
            continue
        length = count * width // 8
        for i in range(count):
            codes[i] |= (data[at + i % length] >> (i // length * width) & (2**width - 1)) << below
        at += length
        below += width
    if name == "q3h_b64":
        codes = [part for pair in codes for part in divmod(pair, 11)]
    return np.array(codes, dtype=np.float32)


def numbers_of(name, block):
    scale, minimum = np.frombuffer(block[:4], dtype="<f2").astype(np.float32)
    with np.errstate(all="ignore"):
        return scale * codes_of(name, block[4:]) + minimum


def blocks_of(name, random):
    weights, bits = TYPES[name]
    size = 4 + (weights // 2 * 7 if name == "q3h_b64" else weights * bits) // 8

    def block(scale, minimum, codes):
        return struct.pack("<HH", scale, minimum) + codes

    def noise():
        return random.integers(0, 256, size - 4, dtype=np.uint8).tobytes()

    def ordinary():
        return int(random.integers(0x1000, 0x3000)) | int(random.integers(0, 2)) << 15

    blocks = [block(ordinary(), ordinary(), noise()) for _ in range(RANDOM)]
    blocks += [bytes(size), b"\xff" * size, block(0x3c00, 0, bytes(size - 4)), block(0x3c00, 0, b"\xff" * (size - 4))]
    blocks += [block(bits, ordinary(), noise()) for bits in F16] + [block(ordinary(), bits, noise()) for bits in F16]
    return blocks


def main():
    random = np.random.default_rng(2)
    out = bytearray()
    for name in TYPES:
        blocks = blocks_of(name, random)
        out += name.encode().ljust(8, b"\0") + struct.pack("<I", len(blocks))
        for block in blocks:
            values = numbers_of(name, block).astype("<f4")
            bits = np.where(np.isnan(values), np.uint32(0x7fc00000), values.view(np.uint32))
            out += block + struct.pack("<Q", fnv1a(bits.astype("<u4").tobytes()))
    (Path(__file__).parent / "data/plane_blocks.bin").write_bytes(out)


if __name__ == "__main__":
    main()
