#!/usr/bin/env python3
"""Checks that tests which pages name exist. Usage: pages.py [ROOT].

In the tables of PAGES whose last column is "test", each row names a test or more: `Suite.Name` in C++,
`test_file.py:test_name` in Python. A page of a whole suite or file leaves none of its tests out.
"""

import re
import sys
from pathlib import Path

import tree

# Each page, and the suite or file that it is the list of.
PAGES = {
    "docs/asio-compliance.md": "AsioCompliance",
    "docs/bad-inputs.md": None,
    "docs/websocket-compliance.md": "test_rfc6455.py",
}

CPP_TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
PYTHON_TEST = re.compile(r"^def (test_\w+)\(", re.MULTILINE)
NAME = re.compile(r"`(\w+\.\w+|\w+\.py:\w+)`")


def tests(root: Path) -> set[str]:
    """As pages name them."""
    found: set[str] = set()
    for path in tree.files(root):
        if not path.startswith("tests/"):
            continue
        if path.endswith(".cc"):
            found.update(f"{suite}.{name}" for suite, name in CPP_TEST.findall((root / path).read_text(errors="replace")))
        elif path.startswith("tests/e2e/") and path.endswith(".py"):
            text = (root / path).read_text(errors="replace")
            found.update(f"{Path(path).name}:{name}" for name in PYTHON_TEST.findall(text))
    return found


def rows(text: str) -> list[tuple[int, str]]:
    """Number and last cell of each row of the tables that end with the column "test"."""
    found, in_tests = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.endswith("| test |"):
            in_tests = True
        elif not line.startswith("|"):
            in_tests = False
        elif in_tests and not line.startswith("| ---"):
            found.append((number, line.rstrip("| ").rsplit(" | ", 1)[-1]))
    return found


def judge(page: str, text: str, known: set[str], whole: str | None) -> list[str]:
    found = []
    named: set[str] = set()
    for number, cell in rows(text):
        names = NAME.findall(cell)
        named.update(names)
        if not names:
            found.append(f"{page}:{number}: a row without a test. To do: name the one that shows it, or write it.")
        for name in names:
            if name not in known:
                found.append(f"{page}:{number}: there is no test {name}. To do: give it the name that the test has now.")
    if not named:
        found.append(f'{page}:1: names no test. To do: end its tables with a column "test".')
    if whole is not None:
        of_whole = {name for name in known if name.startswith((whole + ".", whole + ":"))}
        found += [f"{page}:1: nothing on {name}. To do: add a row." for name in sorted(of_whole - named)]
    return found


def findings(root: Path) -> list[str]:
    known = tests(root)
    return [finding for page, whole in PAGES.items()
            for finding in judge(page, (root / page).read_text(), known, whole)]


if __name__ == "__main__":
    sys.exit(tree.run("pages_test.py", findings))
