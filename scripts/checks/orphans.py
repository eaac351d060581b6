#!/usr/bin/env python3
"""Every source is built and every header is listed, so that nothing rots unseen.

Usage: orphans.py [ROOT]. A source (.cc, .cu) of a layer, tests/ or bench/ must stand in a compile_commands.json of the
lint or release build; what only a CUDA build compiles must be named in a CMakeLists.txt. A header of a layer must be
named in a CMakeLists.txt of its layer, which makes it compile alone and says whether it is installed.
"""

import re
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import tree

# Inputs of tests that run a compiler themselves.
NOT_BUILT = ["tests/install/*", "tests/must_not_compile/*"]
CUDA_ONLY = ["*.cu", "gpu/cuda/*"]
BUILDS = ["build/lint", "build/release"]


def matches(path: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def built(root: Path) -> set[str]:
    """Paths from `root` of the sources that some build compiles."""
    return {source for build in BUILDS for _, sources in tree.compiled(root, build) for source in sources}


def is_named(root: Path, path: str) -> bool:
    """Whether a CMakeLists.txt of the file's folder, or of one above it but the root, names the file."""
    for folder in list(Path(path).parents)[:-1]:
        lists = root / folder / "CMakeLists.txt"
        if lists.exists():
            words = re.sub(r"#.*", "", lists.read_text()).replace("(", " ").replace(")", " ").split()
            if str(Path(path).relative_to(folder)) in words:
                return True
    return False


def findings(root: Path) -> list[str]:
    if not (root / BUILDS[0] / "compile_commands.json").exists():
        tree.fail(f"{BUILDS[0]} is not configured. To do: cmake --preset lint -DWEFT_BENCH=ON")
    layers = list(tomllib.loads((root / "scripts/layers.toml").read_text())["layers"])
    compiled = built(root)
    found = []
    for path in tree.files(root):
        top = path.split("/")[0]
        if path.endswith((".cc", ".cu")) and top in [*layers, "tests", "bench"] and not matches(path, NOT_BUILT):
            if path not in compiled and not (matches(path, CUDA_ONLY) and is_named(root, path)):
                found.append(f"{path}:1: no build compiles this file. To do: add it to {top}/CMakeLists.txt, or delete it.")
        elif path.endswith((".h", ".cuh")) and top in layers and not is_named(root, path):
            found.append(f"{path}:1: this header is in no header set. To do: add it to HEADERS in {top}/CMakeLists.txt, "
                         "or delete it.")
    return found


if __name__ == "__main__":
    sys.exit(tree.run("tree_test.py", findings))
