#!/usr/bin/env python3
"""Every source compiles alone, though builds compile it in a batch: it includes what it needs, and shadows nothing.

Usage: alone.py [--all] [ROOT], with build/lint configured. What was clean and has not changed since is skipped
(memory.py). Of the rest it looks at what has changed lately and at a share in turn; --all looks at the whole. Tests are
looked at by g++ as well, which compiles them nowhere else but in the preset `plain`, and warns of other things.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import memory
import tree


# What is clang's in the commands of build/lint.
CLANG_ONLY = ("-Wdocumentation", "-Wno-unused-command-line-argument", "-Wno-deprecated-declarations")
# g++ takes 4 s of processor time for a test, so that its turn comes more seldom: half a minute of each run.
GCC_SHARES = 4 * memory.SHARES


def judge(source: memory.Source) -> str:
    """What the compiler says, empty when the source is clean."""
    shadow = [word for word in source.without_output() if word != "-Wno-shadow"]
    result = source.judge_with([*shadow, "-fsyntax-only"])
    return source.in_tree_paths(result.stdout + result.stderr) if result.returncode != 0 else ""


def sources(root: Path) -> list[memory.Source]:
    place = memory.folder("alone")
    ours = set(tree.files(root))
    found = {}
    for entry, names in tree.compiled(root, "build/lint"):
        for name in ours.intersection(names):
            found.setdefault(name, memory.Source(entry, root / name, root, place, "alone"))
    return [found[name] for name in sorted(found)]


def tests_by_gcc(root: Path) -> list[memory.Source]:
    """The tests, with the commands that the preset `plain` would compile them by."""
    version = subprocess.run(["g++", "-dumpversion"], check=True, capture_output=True, text=True).stdout
    # Another version may warn of more (cmake/WeftCompiler.cmake).
    dropped = CLANG_ONLY if version.startswith("12") else (*CLANG_ONLY, "-Werror")
    place = memory.folder("alone-gcc")
    ours = {name for name in tree.files(root) if name.startswith("tests/") and not name.startswith("tests/fuzz/")}
    found = {}
    for entry, names in tree.compiled(root, "build/lint"):
        words = entry.get("arguments") or shlex.split(entry["command"])
        arguments = ["g++" if Path(word).name.startswith("clang++") else word for word in words if word not in dropped]
        for name in ours.intersection(names):
            found.setdefault(name, memory.Source({**entry, "arguments": arguments}, root / name, root, place, "alone"))
    return [found[name] for name in sorted(found)]


def main() -> int:
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent.parent).resolve()
    every = sources(root)
    if not every:
        tree.fail("build/lint is not configured. To do: cmake --preset lint -DWEFT_BENCH=ON")
    said = list(memory.look_at(root, {source: [source.name] for source in every}, judge, "sources"))
    tests = {source: [source.name] for source in tests_by_gcc(root)}
    said += memory.look_at(root, tests, judge, "tests by g++", GCC_SHARES)
    if said:
        print("\n".join(said))
        print("To do: include what the source uses, give a local another name, put braces around what g++ asks for.")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
