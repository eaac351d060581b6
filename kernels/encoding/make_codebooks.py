#!/usr/bin/env python3
"""Writes codebook_tables.h: the grids of GGUF's IQ encodings, as PyPI's gguf has them. Usage: make_codebooks.py

Of one entry's 8 (IQ3: 4) codes the first stands in the lowest bits: 2 bits each, 3 of IQ3. A grid is part of its format;
this script is there to show where the numbers come from.
"""

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import _type_traits

GRIDS = [("Iq1", Type.IQ1_S, 2), ("Iq2Xxs", Type.IQ2_XXS, 2), ("Iq2Xs", Type.IQ2_XS, 2), ("Iq2S", Type.IQ2_S, 2),
         ("Iq3Xxs", Type.IQ3_XXS, 3), ("Iq3S", Type.IQ3_S, 3)]
COLUMNS = 12


def entries(qtype, bits):
    traits = _type_traits[qtype]
    traits.init_grid()
    grid = traits.grid.reshape(traits.grid_shape)
    codes = np.searchsorted(np.array(traits.grid_map, dtype=np.float32), grid)
    return (codes << (bits * np.arange(grid.shape[1]))).sum(axis=1)


def table(name, qtype, bits):
    numbers = [f"0x{entry:04x}" for entry in entries(qtype, bits)]
    lines = [", ".join(numbers[at:at + COLUMNS]) for at in range(0, len(numbers), COLUMNS)]
    body = ",\n    ".join(lines)
    return f"inline constexpr std::array<std::uint16_t, {len(numbers)}> k{name}Grid = {{\n    {body}}};\n"


def main():
    head = "#pragma once\n\n// Written by make_codebooks.py.\n\n#include <array>\n#include <cstdint>\n\nnamespace weft {\n\n"
    tables = "\n".join(table(*grid) for grid in GRIDS)
    (Path(__file__).parent / "codebook_tables.h").write_text(f"{head}{tables}\n}}  // namespace weft\n")


if __name__ == "__main__":
    main()
