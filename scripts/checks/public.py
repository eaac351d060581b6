#!/usr/bin/env python3
"""A public header includes public headers only, so that the installed package is whole.

Usage: public.py [ROOT]. Public are the headers under PUBLIC_HEADERS in the CMakeLists.txt of the layers, and weft.h. A
header of ours that one of them includes is public as well, and every public header can be reached from weft.h: what
cannot has no reader in an application.
"""

import re
import sys
from pathlib import Path

import tree

UMBRELLA = "weft.h"
# Keywords of weft_layer(), each of which ends the list before it.
KEYWORDS = {"FOLDER", "PUBLIC_HEADERS", "HEADERS", "SOURCES", "USES", "LINKS"}
LAYER = re.compile(r"\bweft_layer\s*\(([^)]*)\)")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]weft/([^>"\n]+)[>"]')


def lists(text: str) -> dict[str, list[str]]:
    """The words after each keyword of the weft_layer() in a CMakeLists.txt; nothing when it has none."""
    call = LAYER.search(re.sub(r"#.*", "", text))
    found: dict[str, list[str]] = {}
    keyword = ""
    for word in call[1].split() if call else []:
        if word in KEYWORDS:
            keyword = word
        found.setdefault(keyword, []).extend([] if word in KEYWORDS else [word])
    return found


def includes(text: str) -> list[tuple[int, str]]:
    """Number of the line and path from the root of each include of ours."""
    matches = ((number, INCLUDE.match(line)) for number, line in enumerate(text.splitlines(), 1))
    return [(number, match[1]) for number, match in matches if match]


def judge(layers: dict[str, str], headers: dict[str, str]) -> list[str]:
    """`layers`: the text of each CMakeLists.txt by its folder. `headers`: the text of each header by its path."""
    found = []
    public = {UMBRELLA}
    for folder, text in layers.items():
        words = lists(text)
        names = words.get("PUBLIC_HEADERS", [])
        public.update(f"{folder}/{name}" for name in names)
        for name in sorted(set(names) & set(words.get("HEADERS", []))):
            found.append(f"{folder}/CMakeLists.txt:1: {name} is public and private. To do: name it in one of the lists.")
    reached, to_read = set(), [UMBRELLA]
    while to_read:
        path = to_read.pop()
        if path in reached or path not in headers:
            continue
        reached.add(path)
        to_read += [target for _, target in includes(headers[path])]
    for path in sorted(public & headers.keys()):
        found += [f"{path}:{number}: a public header includes weft/{target}, which is not installed. To do: include it in "
                  "the source file and declare here what is used, or move it to PUBLIC_HEADERS."
                  for number, target in includes(headers[path]) if target not in public]
        if path not in reached:
            found.append(f"{path}:1: this public header cannot be reached from {UMBRELLA}. To do: include it there, or "
                         "move it to HEADERS.")
    return found


def findings(root: Path) -> list[str]:
    files = tree.files(root)
    layers = {str(Path(path).parent): (root / path).read_text() for path in files if path.endswith("/CMakeLists.txt")}
    headers = {path: (root / path).read_text() for path in files if path.endswith(".h")}
    return judge(layers, headers)


if __name__ == "__main__":
    sys.exit(tree.run("public_test.py", findings))
