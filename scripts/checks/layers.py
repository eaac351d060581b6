#!/usr/bin/env python3
"""Checks the includes between layers by the table scripts/layers.toml.

Usage: layers.py [ROOT]. Prints "file:line: finding. To do: ...", one a line; exits 1 when there is any.
Its own tests, layers_test.py, run first.
"""

import re
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import tree

# One match is one thing that must not be looked into (comment, string, character) or must be skipped whole (a name, so
# that R at its end opens no raw string; a number, so that its ' opens no character).
TOKEN = re.compile(
    r"""(?P<comment>//(?:[^\n\\]|\\.)*|/\*.*?(?:\*/|\Z))
      |(?P<literal>(?:u8|[uUL])?R"(?P<fence>[^(\s]*)\(.*?\)(?P=fence)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
      |[A-Za-z_]\w*|\d(?:['.]?\w)*""",
    re.DOTALL | re.VERBOSE,
)
INCLUDE = re.compile(
    r"""^[ \t]*(?P<hash>\#)[ \t]*include[ \t]*(?P<bracket>[<"])(?P<header>[^>"\n]+)[>"]""", re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:include|error|warning|pragma)\b[^\n]*", re.MULTILINE)
# A word before a call that leaves it a call; any other word makes `word name(` a declaration.
CALL_PREFIX = {"return", "co_return", "co_await", "co_yield", "throw", "else", "do", "case", "and", "or", "not"}


def blank(text: str, kinds: tuple[str, ...]) -> str:
    """`text` with the tokens of `kinds` replaced by spaces; lines keep their numbers."""

    def replace(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match[0]) if match.lastgroup in kinds else match[0]

    return TOKEN.sub(replace, text)


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def is_in(path: str, places: list[str]) -> bool:
    """Whether `path` lies in one of the places, each a folder of the root or a pattern."""
    top = path.split("/")[0]
    return any(fnmatchcase(path, place) if re.search(r"[/*]", place) else top == place for place in places)


def where(places: list[str]) -> str:
    return "only in " + ", ".join(places) if places else "nowhere"


class Table:
    """scripts/layers.toml, checked for sense."""

    def __init__(self, text: str):
        table = tomllib.loads(text)
        self.layers: dict[str, list[str]] = table["layers"]
        self.beside: dict[str, list[str]] = table.get("beside", {})
        self.umbrella = table.get("umbrella", {"header": "", "places": []})
        self.outsiders: list[str] = table.get("outsiders", {}).get("places", [])
        self.headers = table.get("headers", [])
        self.words = [(self._pattern(rule), rule) for rule in table.get("words", [])]
        self.files = table.get("files", [])
        self.forbidden_folders: list[str] = table.get("folders", {}).get("forbidden", [])
        self._require_arrows_down()

    def _require_arrows_down(self) -> None:
        lower: list[str] = []
        for layer, uses in self.layers.items():
            for used in uses:
                if used not in lower:
                    raise ValueError(f"'{layer}' uses '{used}', which is not a layer below it")
            lower.append(layer)

    @staticmethod
    def _pattern(rule: dict) -> re.Pattern:
        if "word" in rule:
            return re.compile(rule["word"])
        # A call of the global or std function; x.exit(), x->exit() and Actor::exit() are somebody's own.
        return re.compile(r"(?P<before>\b\w+[ \t\n]+)?(?<![\w.:>~])(?:std::|::)?(?:" + "|".join(rule["call"]) + r")\s*\(")


class Judge:
    """The findings of one file."""

    def __init__(self, table: Table, path: str, text: str):
        self.table = table
        self.path = path
        self.text = text
        self.top = path.split("/")[0] if "/" in path else ""
        self.findings: list[str] = []

    def run(self) -> list[str]:
        self._file()
        without_comments = blank(self.text, ("comment",))
        code = blank(self.text, ("comment", "literal"))
        for match in INCLUDE.finditer(without_comments):
            if code[match.start("hash")] == "#":  # else it stands inside a raw literal
                self._include(line_of(code, match.start("hash")), match["bracket"], match["header"])
        code = DIRECTIVE.sub("", code)
        for pattern, rule in self.table.words:
            if not is_in(self.path, rule["places"]):
                self._word(code, pattern, rule)
        return self.findings

    def _find(self, line: int, what: str, to_do: str) -> None:
        self.findings.append(f"{self.path}:{line}: {what}. To do: {to_do}.")

    def _file(self) -> None:
        for folder in self.path.split("/")[:-1]:
            if folder in self.table.forbidden_folders:
                self._find(1, f"a folder named '{folder}' says nothing about what is inside",
                           "name it after what its files do, or move them to where they are used")
        if self.top not in self.table.layers and self.top not in self.table.beside \
                and self.path != self.table.umbrella["header"]:
            self._find(1, f"'{self.top or self.path}' is no layer",
                       "move the file into a layer, or add the folder to scripts/layers.toml")
        for rule in self.table.files:
            if any(fnmatchcase(self.path, pattern) for pattern in rule["match"]) \
                    and not is_in(self.path, rule["places"]):
                self._find(1, f"a CUDA file stands {where(rule['places'])}; {rule['because']}",
                           "move it there, or rename it")

    def _include(self, line: int, bracket: str, header: str) -> None:
        if header.startswith("weft/"):
            self._our_include(line, bracket, header.removeprefix("weft/"))
        elif bracket == '"':
            self._find(line, f'"{header}" is relative, or not ours',
                       'write "weft/<folder>/file.h" for our headers and <...> for all others')
        else:
            self._foreign_include(line, header)

    def _our_include(self, line: int, bracket: str, target: str) -> None:
        outsider = is_in(self.path, self.table.outsiders)
        if bracket == "<" and not outsider:
            self._find(line, f"<weft/{target}> is how a user of the package says it", f'write "weft/{target}"')
        if ".." in target.split("/"):
            self._find(line, f'"weft/{target}" climbs out of its folder', "name the header by its own folder")
            return
        if target == self.table.umbrella["header"]:
            if not is_in(self.path, self.table.umbrella["places"]):
                self._find(line, "weft/weft.h is for users of the package", "include the headers that are used")
            return
        self._our_arrow(line, target)

    def _our_arrow(self, line: int, target: str) -> None:
        layers, beside = self.table.layers, self.table.beside
        other = target.split("/")[0]
        if other in layers:
            if self.top in layers and other != self.top and other not in layers[self.top]:
                may = ", ".join(layers[self.top]) or "no other layer"
                self._find(line, f"{self.top} may not include {other} (it may include {may})",
                           "pass the value in, move what is needed to a lower layer, or move this code up")
        elif other in beside:
            if not is_in(target, beside.get(self.top, [])):
                self._find(line, f"{self.top or self.path} may not include weft/{target}",
                           "move what is needed into a layer" if self.top in layers
                           else f"move it to where {self.top} may include it (see [beside] in scripts/layers.toml)")
        else:
            self._find(line, f"weft/{target} is in no layer", "correct the path, or add the folder to scripts/layers.toml")

    def _foreign_include(self, line: int, header: str) -> None:
        for rule in self.table.headers:
            if any(fnmatchcase(header, pattern) for pattern in rule["match"]):
                if not is_in(self.path, rule["places"]):
                    self._find(line, f"<{header}> may be included {where(rule['places'])}: {rule['because']}",
                               "remove it, or move this code there")
                return

    def _word(self, code: str, pattern: re.Pattern, rule: dict) -> None:
        for match in pattern.finditer(code):
            before = (match.groupdict().get("before") or "").strip()
            if before and before not in CALL_PREFIX:
                continue  # a declaration of that name
            start = match.end("before") if before else match.start()
            self._find(line_of(code, start), f"{rule['name']} is allowed {where(rule['places'])}",
                       f"remove it; {rule['because']}")


def findings(root: Path) -> list[str]:
    try:
        table = Table((root / "scripts/layers.toml").read_text())
    except (ValueError, KeyError) as error:
        tree.fail(f"scripts/layers.toml: {error}. To do: correct the table.")
    found = []
    for path in tree.files(root):
        if path.endswith(tree.CPP_ENDINGS):
            found += Judge(table, path, (root / path).read_text(errors="replace")).run()
    return found


if __name__ == "__main__":
    sys.exit(tree.run("layers_test.py", findings))
