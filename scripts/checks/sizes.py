#!/usr/bin/env python3
"""Long files have a reason written in them: a line "// Size: <reason>". Usage: sizes.py [ROOT]."""

import re
import sys
from pathlib import Path

import tree

MAX_LINES = 600
MAX_KERNEL_LINES = 800
REASON = re.compile(r"^\s*// Size: \S+", re.MULTILINE)


def limit(path: str) -> int:
    return MAX_KERNEL_LINES if path.startswith("kernels/") or path.endswith((".cu", ".cuh")) else MAX_LINES


def findings(root: Path) -> list[str]:
    found = []
    for path in tree.files(root):
        if path.endswith(tree.CPP_ENDINGS):
            text = (root / path).read_text(errors="replace")
            lines = text.count("\n")
            if lines > limit(path) and not REASON.search(text):
                found.append(f"{path}:1: {lines} lines, more than {limit(path)}. To do: split it by what it does, or say "
                             'why it is one piece in a line "// Size: <reason>".')
    return found


if __name__ == "__main__":
    sys.exit(tree.run("tree_test.py", findings))
