#!/usr/bin/env python3
"""Writes data/group_blocks.bin: blocks of the encodings that Hugging Face's quantizers' weights become, and what they stand
for. Usage: make_group_blocks.py

The layouts are those of kernels/encoding/integer_codes.h and decode_integers-inl.h, put together here from codes, scales and
zeros, so that what is expected is the formula alone: scale * (code - zero), or a table's number times the scale, in f32.
For each type: its name, filled up with zeros to 8 bytes, and the number of blocks as u32, then the blocks, each followed by
the FNV-1a hash (64 bits) of its numbers as in make_blocks.py.
"""

import struct
from pathlib import Path

import numpy as np

from make_blocks import fnv1a

GROUPS = (32, 64, 128, 256)
SHARED = {(2, 32), (2, 64), (3, 32)}  # two groups in a block
NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
FP4 = [0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4]
FP4 = FP4 + [0.0] + [-number for number in FP4[1:]]
RANDOM = 8
ODD_SCALES = [np.inf, -np.inf, np.nan, 0.0, -0.0]


def e4m3(codes):
    magnitude = (codes & 0x7f).astype(np.int32)
    exponent, fraction = magnitude >> 3, (magnitude & 7).astype(np.float64)
    value = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0**(exponent - 10.0))
    value = np.where(magnitude == 0x7f, np.nan, value)
    return np.where(codes & 0x80, -value, value).astype(np.float32)


def runs(codes, bits):
    """The bytes of codes, each 32 of them together."""
    out = b""
    for run in codes.reshape(-1, 32).astype(np.uint32):
        if bits == 8:
            out += run.astype(np.uint8).tobytes()
        elif bits == 4:
            out += (run[:16] | run[16:] << 4).astype(np.uint8).tobytes()
        else:
            low = run & 3
            out += (low[:8] | low[8:16] << 2 | low[16:24] << 4 | low[24:] << 6).astype(np.uint8).tobytes()
            if bits == 3:
                out += struct.pack("<I", sum(int(code >> 2) << i for i, code in enumerate(run)))
    return out


def integer_blocks(bits, group, random):
    groups = 2 if (bits, group) in SHARED else 1
    kind, most = (np.float32, 1e38) if bits == 8 else (np.float16, 65504.0)
    top = 2**bits - 1

    def block(codes, scales, zeros):
        scales = np.array(scales, dtype=kind)
        packed = sum(zero << 4 * i for i, zero in enumerate(zeros))
        expected = scales.astype(np.float32).repeat(group) * (codes.astype(np.int32) - np.repeat(zeros, group)).astype(np.float32)
        return scales.tobytes() + bytes([packed]) + runs(codes, bits), expected

    def codes():
        return random.integers(0, top + 1, group * groups)

    def zeros():
        return [int(zero) for zero in random.integers(0, top + 1, groups)]

    for _ in range(RANDOM):
        yield block(codes(), random.normal(size=groups) * 0.01, zeros())
    for fill in (0, top):
        for zero in (0, top):
            yield block(np.full(group * groups, fill), [most] * groups, [zero] * groups)
    for scale in ODD_SCALES + [6e-8]:
        yield block(codes(), [1.0] * (groups - 1) + [scale], zeros())


def float_blocks(elements, table, random):
    def block(codes, scale):
        scale = np.float32(scale)
        packed = codes.astype(np.uint8).tobytes() if len(table) == 256 else runs(codes, 4)
        return scale.tobytes() + packed, table[codes] * scale

    def codes():
        return random.integers(0, len(table), elements)

    for _ in range(RANDOM):
        yield block(codes(), random.normal() * 0.01)
    for start in range(0, len(table), elements):
        yield block((np.arange(elements) + start) % len(table), 0.37)
    for scale in ODD_SCALES + [3e38, 1e-45]:
        yield block(codes(), scale)


def main():
    random = np.random.default_rng(2)
    kinds = {f"i{bits}_{group}": integer_blocks(bits, group, random) for bits in (2, 3, 4, 8) for group in GROUPS}
    kinds |= {f"f8_{group}": float_blocks(group, e4m3(np.arange(256)), random) for group in GROUPS}
    kinds["nf4_64"] = float_blocks(64, np.array(NF4, dtype=np.float32), random)
    kinds["fp4_64"] = float_blocks(64, np.array(FP4, dtype=np.float32), random)
    out = bytearray()
    for name, blocks in kinds.items():
        with np.errstate(all="ignore"):
            blocks = list(blocks)
        out += name.encode().ljust(8, b"\0") + struct.pack("<I", len(blocks))
        for data, values in blocks:
            values = values.astype("<f4")
            bits = np.where(np.isnan(values), np.uint32(0x7fc00000), values.view(np.uint32))
            out += data + struct.pack("<Q", fnv1a(bits.astype("<u4").tobytes()))
    (Path(__file__).parent / "data" / "group_blocks.bin").write_bytes(out)


if __name__ == "__main__":
    main()
