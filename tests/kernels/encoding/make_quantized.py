#!/usr/bin/env python3
"""Writes data/quantized.bin: numbers, and hashes of the blocks that PyPI's gguf makes of them. Usage: make_quantized.py

First the count of numbers as u32 and the numbers as f32; then for each type its number in GGUF files as u32 and the FNV-1a
hash (64 bits) of all blocks.
"""

import struct
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import quantize
from make_blocks import fnv1a

TYPES = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "TQ1_0", "TQ2_0", "MXFP4"]


def numbers():
    random = np.random.default_rng(3)
    parts = [random.normal(0, 0.02, 512), random.normal(0, 1, 256), random.standard_t(2, 256), np.zeros(256),
             np.full(256, 0.5), np.linspace(-1, 1, 256), np.round(random.normal(0, 2, 256)) / 2,
             random.normal(0, 1e-6, 256), random.choice([-0.25, 0, 0.25], 256)]
    found = np.concatenate(parts).astype("<f4")
    found[100] = 3.0
    return found


def main():
    x = numbers()
    out = struct.pack("<I", len(x)) + x.tobytes()
    for name in TYPES:
        with np.errstate(all="ignore"):
            blocks = quantize(x.reshape(1, -1), Type[name])
        out += struct.pack("<IQ", Type[name], fnv1a(blocks.tobytes()))
    (Path(__file__).parent / "data/quantized.bin").write_bytes(out)


if __name__ == "__main__":
    main()
