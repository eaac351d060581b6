#!/usr/bin/env python3
"""Every source compiles alone, though builds compile it in a batch: it includes what it needs, and shadows nothing.

Usage: alone.py [--all] [ROOT], with build/lint configured. What was clean and has not changed since is skipped
(memory.py). Of the rest it looks at what the last commits and the working tree have changed, and at a share that is
another one each day, so that the whole has its turn within SHARES days; --all looks at the whole.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import memory
import tree

SHARES = 14
LAST_COMMITS = 10
MOST_CHANGED = 60


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


def lately_changed(root: Path) -> set[str]:
    """The sources that the working tree and the last commits have changed; those of fewer commits when they are many,
    as after files have moved."""
    changed = set()
    for count in range(LAST_COMMITS + 1):
        diff = subprocess.run(["git", "diff", "--name-only", "-M", "--diff-filter=AM", f"HEAD~{count}"], cwd=root,
                              check=False, capture_output=True, text=True)
        names = {name for name in diff.stdout.split() if name.endswith(".cc")}
        if diff.returncode != 0 or len(names) > MOST_CHANGED:
            break
        changed |= names
    return changed


def is_due(source: memory.Source) -> bool:
    return int(memory.sha(source.name), 16) % SHARES == int(time.time() // 86400) % SHARES


def main() -> int:
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent.parent).resolve()
    every = sources(root)
    if not every:
        tree.fail("build/lint is not configured. To do: cmake --preset lint -DWEFT_BENCH=ON")
    chosen = every
    if "--all" not in sys.argv:
        changed = lately_changed(root)
        chosen = [source for source in every if source.name in changed or is_due(source)]
    looked_at = [source for source in chosen if not source.is_known_clean()]
    print(f"{len(looked_at)} of {len(every)} sources to look at", file=sys.stderr)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        said = [text for text in pool.map(judge, looked_at) if text]
    if said:
        print("\n".join(said))
        print("To do: include what the source uses, give a local another name.")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
