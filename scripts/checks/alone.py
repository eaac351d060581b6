#!/usr/bin/env python3
"""Every source compiles alone, though builds compile it in a batch: it includes what it needs, and shadows nothing.

Usage: alone.py [--all] [ROOT], with build/lint configured. What was clean and has not changed since is skipped
(memory.py). Of the rest it looks at what has changed lately and at a share in turn; --all looks at the whole.
"""

import sys
from pathlib import Path

import memory
import tree


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


def main() -> int:
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent.parent).resolve()
    every = sources(root)
    if not every:
        tree.fail("build/lint is not configured. To do: cmake --preset lint -DWEFT_BENCH=ON")
    said = list(memory.look_at(root, {source: [source.name] for source in every}, judge, "sources"))
    if said:
        print("\n".join(said))
        print("To do: include what the source uses, give a local another name.")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
