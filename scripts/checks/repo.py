#!/usr/bin/env python3
"""Nothing is left in the text files of the tree that belongs to one machine or one moment. Usage: repo.py [ROOT].

Finds machine paths, notes to oneself, merge markers, trailing white space, and a missing line end. A file that has to
keep its white space gets `-whitespace` in .gitattributes, one that is no text `binary`.
"""

import re
import subprocess
import sys
from pathlib import Path

import tree

# A path's first slash follows nothing that could make it the middle of a longer path or of a URL.
START = r"(?<![\w./$})~-])"
RULES = [  # (pattern, what was found, what to do, folders it is fine in)
    (re.compile(START + r"/(?:home|Users|root|work|mnt|media)/[\w.]"), "a path of one machine",
     "make it relative to the tree, or a parameter", ()),
    (re.compile(START + r"/tmp/[\w.]"), "a fixed temporary path",
     "ask for a fresh folder (mktemp -d, std::filesystem::temp_directory_path)", ("scripts", "tests", "docs")),
    (re.compile(r"\b(?:TO[D]O|FIX[M]E|X[X]X)\b"), "a note to oneself", "do it now, or write it down as an issue", ()),
    (re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |$)"), "a merge marker", "finish the merge", ()),
]
TRAILING = re.compile(r"[ \t\r]+$")


def keeping_whitespace(root: Path, paths: list[str]) -> set[str]:
    """Those of `paths` that .gitattributes marks -whitespace or -text (which `binary` means)."""
    answer = subprocess.run(
        ["git", "check-attr", "-z", "--stdin", "whitespace", "text"],
        cwd=root, check=True, capture_output=True, input="\0".join(paths).encode(),
    ).stdout.decode().split("\0")
    return {path for path, value in zip(answer[0::3], answer[2::3]) if value == "unset"}


def findings_of(path: str, text: str, keeps_whitespace: bool) -> list[str]:
    top = path.split("/")[0]
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, what, to_do, excused in RULES:
            match = pattern.search(line)
            if match and top not in excused:
                found.append(f"{path}:{number}: {what}: '{match[0].strip()}'. To do: {to_do}.")
        if not keeps_whitespace and TRAILING.search(line):
            found.append(f"{path}:{number}: trailing white space. To do: remove it.")
    if text and not text.endswith("\n") and not keeps_whitespace:
        found.append(f"{path}:{text.count(chr(10)) + 1}: no line end at the end of the file. To do: add one.")
    return found


def findings(root: Path) -> list[str]:
    paths = tree.files(root)
    keeping = keeping_whitespace(root, paths)
    found = []
    for path in paths:
        content = (root / path).read_bytes()
        if b"\0" not in content:
            found += findings_of(path, content.decode(errors="replace"), path in keeping)
    return found


if __name__ == "__main__":
    sys.exit(tree.run("tree_test.py", findings))
