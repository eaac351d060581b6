#!/usr/bin/env python3
"""Every header compiles alone, and its comments are documentation that clang understands (-Wdocumentation).

Usage: headers.py [--all] [ROOT], with build/lint configured. What was clean and has not changed since is skipped
(memory.py). Of the rest it looks at what has changed lately and at a share in turn; --all looks at the whole.
"""

import re
import sys
from pathlib import Path

import memory
import tree

# CMake writes a source for each header of a header set, which includes that header and nothing else.
WRAPPER = re.compile(r"_verify_interface_header_sets/weft/(.+)\.cxx$")
FLAG = "-Wdocumentation"


def headers(root: Path) -> dict[memory.Source, list[str]]:
    """Each source that includes a header alone, with the header's path from `root`."""
    place = memory.folder("headers")
    found = {}
    for entry, _ in tree.compiled(root, "build/lint"):
        name = WRAPPER.search(entry["file"])
        if name is not None:
            found[memory.Source(entry, Path(entry["file"]), root, place, "headers")] = [name[1]]
    return found


def judge(header: memory.Source) -> str:
    """What the compiler says, empty when the header is clean. What it says of CMake's source says nothing."""
    result = header.judge_with([*header.without_output(), "-fsyntax-only"])
    if result.returncode == 0:
        return ""
    lines = (result.stdout + result.stderr).splitlines()
    said = [line for line in lines if "_verify_interface_header_sets/" not in line]
    return header.in_tree_paths("\n".join(said)) or f"{header.name}: the compiler exits {result.returncode}"


def main() -> int:
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent.parent).resolve()
    every = headers(root)
    if not every:
        tree.fail("build/lint is not configured. To do: cmake --preset lint -DWEFT_BENCH=ON")
    # Without the flag this check would say yes to every comment.
    without = [names for header, names in every.items() if FLAG not in header.arguments]
    if without:
        tree.fail(f"CMakePresets.json: lint compiles {len(without)} headers without {FLAG}. To do: give the flag to the "
                  "header sets too, for instance in CMAKE_CXX_FLAGS of the preset.")
    said = list(memory.look_at(root, every, judge, "headers"))
    if said:
        print("\n".join(said))
        print("To do: include or declare what the header uses, and correct the comments that -Wdocumentation names.")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
