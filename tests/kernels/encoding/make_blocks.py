#!/usr/bin/env python3
"""Writes data/blocks.bin: blocks of GGUF's encodings and what PyPI's gguf decodes them to. Usage: make_blocks.py

For each type: its number in GGUF files and the number of blocks as u32, then the blocks, each followed by the FNV-1a hash
(64 bits) of its numbers as little-endian f32, every NaN as 0x7fc00000. Blocks are random, and then such as a file of bad
will has: all bits zero or one, the least and the largest codes, scales that are infinite, not a number or at the borders.
"""

import struct
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize

# Where the f16 stand that scale the block and its minimums.
SCALES = {
    "Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ1_S": [0], "IQ1_M": [], "IQ2_XXS": [0], "IQ2_XS": [0],
    "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [],
}
RANDOM = 10
F16 = [0x7c00, 0xfc00, 0x7e01, 0x7bff, 0x0001, 0x8000]
F16_ONE = 0x3c00


def set_f16(name, block, bits):
    if name == "IQ1_M":
        words = np.frombuffer(block[48:56].tobytes(), dtype="<u2").copy()
        for i in range(4):
            words[i] = words[i] & 0x0fff | (bits >> (4 * i) & 15) << 12
        block[48:56] = np.frombuffer(words.tobytes(), dtype=np.uint8)
    for at in SCALES[name]:
        block[at:at + 2] = np.frombuffer(struct.pack("<H", bits), dtype=np.uint8)
    return block


def blocks_of(name, random):
    size = GGML_QUANT_SIZES[Type[name]][1]

    def filled(byte):
        return np.full(size, byte, dtype=np.uint8)

    def noise():
        return random.integers(0, 256, size, dtype=np.uint8)

    # Random numbers as f16 are mostly large; weights are not.
    blocks = [set_f16(name, noise(), int(random.integers(0x1000, 0x3000))) for _ in range(RANDOM)]
    blocks += [filled(0), filled(0xff), set_f16(name, filled(0), F16_ONE), set_f16(name, filled(0xff), F16_ONE)]
    blocks += [set_f16(name, noise(), bits) for bits in F16]
    if name == "MXFP4":
        for exponent in [0, 1, 2, 127, 254, 255]:
            block = noise()
            block[0] = exponent
            blocks.append(block)
    return blocks


def fnv1a(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


def main():
    random = np.random.default_rng(1)
    out = bytearray()
    for name in SCALES:
        blocks = blocks_of(name, random)
        out += struct.pack("<II", Type[name], len(blocks))
        for block in blocks:
            with np.errstate(all="ignore"):
                values = dequantize(block.reshape(1, -1), Type[name]).astype("<f4").reshape(-1)
            bits = np.where(np.isnan(values), np.uint32(0x7fc00000), values.view(np.uint32))
            out += block.tobytes() + struct.pack("<Q", fnv1a(bits.astype("<u4").tobytes()))
    folder = Path(__file__).parent / "data"
    folder.mkdir(exist_ok=True)
    (folder / "blocks.bin").write_bytes(out)


if __name__ == "__main__":
    main()
