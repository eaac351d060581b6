#!/usr/bin/env python3
"""fp8_checkpoint.py MODEL FOLDER: writes a checkpoint in bf16 as one in FP8, to measure what rounding does.

Matrices whose name has "proj" become E4M3 with a scale for each block of 128 x 128, whose greatest number becomes 448,
as `quantization_config` with `weight_block_size` says it. All else stays as it is.
"""

import bisect
import json
import shutil
import struct
import sys
from pathlib import Path

BLOCK = 128
GREATEST = 448
# The numbers of E4M3 that are not negative, in the order of their codes, and what lies halfway between them.
NUMBERS = [(code & 7) * 2.0**-9 if code < 8 else (8 + (code & 7)) * 2.0 ** ((code >> 3) - 10) for code in range(127)]
HALFWAY = [(low + high) / 2 for low, high in zip(NUMBERS, NUMBERS[1:])]


def code_of(number):
    """Returns the code of the nearest number; of two, the even code."""
    magnitude = abs(number)
    code = bisect.bisect_left(HALFWAY, magnitude)
    if code < len(HALFWAY) and HALFWAY[code] == magnitude and code % 2 == 1:
        code += 1
    return code | (128 if number < 0 else 0)


def numbers_of(raw):
    words = struct.unpack(f"<{len(raw) // 2}H", raw)
    return struct.unpack(f"<{len(words)}f", b"".join(struct.pack("<I", word << 16) for word in words))


def in_blocks(numbers, rows, columns):
    """Returns the scales' shape, the codes and the scales."""
    across = -(-columns // BLOCK)
    shape = [-(-rows // BLOCK), across]
    greatest = [0.0] * (shape[0] * across)
    for at, number in enumerate(numbers):
        block = at // columns // BLOCK * across + at % columns // BLOCK
        greatest[block] = max(greatest[block], abs(number))
    scales = struct.pack(f"<{len(greatest)}f", *(number / GREATEST or 1.0 for number in greatest))
    scale_of = struct.unpack(f"<{len(greatest)}f", scales)
    codes = bytes(
        code_of(number / scale_of[at // columns // BLOCK * across + at % columns // BLOCK])
        for at, number in enumerate(numbers)
    )
    return shape, codes, scales


def tensors_of(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    for name, about in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            yield name, about["dtype"], about["shape"], data[8 + size + begin : 8 + size + end]


def write(path, tensors):
    head, at = {}, 0
    for name, dtype, shape, raw in tensors:
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(raw)]}
        at += len(raw)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(raw for _, _, _, raw in tensors))


def main():
    model, folder = map(Path, sys.argv[1:3])
    shutil.copytree(model, folder)
    tensors = []
    for name, dtype, shape, raw in tensors_of(model / "model.safetensors"):
        if "proj" not in name or dtype != "BF16" or len(shape) != 2:
            tensors.append((name, dtype, shape, raw))
            continue
        scales_shape, codes, scales = in_blocks(numbers_of(raw), *shape)
        tensors.append((name, "F8_E4M3", shape, codes))
        tensors.append((name + "_scale_inv", "F32", scales_shape, scales))
    write(folder / "model.safetensors", tensors)
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [BLOCK, BLOCK]}
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
