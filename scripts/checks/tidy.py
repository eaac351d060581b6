#!/usr/bin/env python3
"""clang-tidy over every source of the lint build, in the batches that the build compiles. Usage: tidy.py [--all]
[ROOT].

A batch that was clean is skipped until something it was judged by changes (memory.py): the profiles and the tool, too. Of
the rest it looks at what has changed lately and at a share in turn; --all looks at the whole.
"""

import re
import subprocess
import sys
from pathlib import Path

import memory
import tree

TIDY = "clang-tidy-19"
# Clang's own summary lines say nothing that the findings do not.
NOISE = re.compile(r"^\d+ warnings?( and \d+ errors?)? (generated|treated as errors?)\.?$|^\d+ errors? generated\.$")


def judge(batch: memory.Source) -> str:
    """What clang-tidy says of a batch, empty when it is clean."""
    result = batch.judge_with(
        [TIDY, "--quiet", "--warnings-as-errors=*", "-p", batch.root / "build/lint", batch.path])
    if result.returncode == 0:
        return ""
    lines = [line for line in (result.stdout + result.stderr).splitlines() if not NOISE.match(line)]
    return batch.in_tree_paths("\n".join(lines)) or f"{batch.name}: {TIDY} exits {result.returncode}"


def judged_by(root: Path) -> str:
    """The tool and every profile of the tree."""
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True, text=True).stdout
    profiles = [path for path in tree.files(root) if path.split("/")[-1] == ".clang-tidy"]
    return memory.sha(version, *(path + (root / path).read_text() for path in profiles))


def batches(root: Path) -> dict[memory.Source, list[str]]:
    """Each batch with the sources of the tree that it holds."""
    entries = tree.compiled(root, "build/lint")
    if not entries:
        tree.fail("build/lint is not configured. To do: cmake --preset lint -DWEFT_BENCH=ON")
    ours = set(tree.files(root))
    judged = judged_by(root)
    place = memory.folder("tidy")
    found = {}
    for entry, names in entries:
        if ours.intersection(names):
            file = (Path(entry["directory"]) / entry["file"]).absolute()
            batch = memory.Source(entry, file, root, place, judged)
            found.setdefault(batch.name, (batch, names))
    return dict(found[name] for name in sorted(found))


def main() -> int:
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent.parent).resolve()
    every = batches(root)
    # A header is reported by every batch that includes it: print each block once, as it comes.
    blocks = set()
    for text in memory.look_at(root, every, judge, "batches"):
        for block in re.split(r"\n(?=\S+:\d+:\d+: (?:error|warning):)", text):
            if block and block not in blocks:
                blocks.add(block)
                print(block, flush=True)
    if blocks:
        print("To do: mend each, or excuse it on its line with // NOLINT(check-name): why. clang-tidy-19 -p build/lint "
              "--fix FILE mends many.")
    return 1 if blocks else 0


if __name__ == "__main__":
    sys.exit(main())
