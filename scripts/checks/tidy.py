#!/usr/bin/env python3
"""clang-tidy over every source of the lint build. Usage: tidy.py [ROOT].

A file that was clean is skipped until something it was judged by changes: the profile, the tool, the compile command,
or any file it includes. Those are compared by content when they belong to the tree, else by size and time. Memory of it
is kept in $XDG_CACHE_HOME/weft/tidy (~/.cache by default), for all clones of the tree and the last few states of each
file; deleting that folder is always safe.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import tree

TIDY = "clang-tidy-19"
KEEP_DAYS = 60
KEEP_STATES = 8
# Clang's own summary lines say nothing that the findings do not.
NOISE = re.compile(r"^\d+ warnings?( and \d+ errors?)? (generated|treated as errors?)\.?$|^\d+ errors? generated\.$")


def sha(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Source:
    """One source of the lint build, and what is remembered of it."""

    def __init__(self, entry: dict, root: Path, cache: Path, judged_by: str):
        self.root = root
        self.directory = entry["directory"]
        self.path = (Path(self.directory) / entry["file"]).resolve()
        self.name = str(self.path.relative_to(root))
        self.arguments = entry.get("arguments") or shlex.split(entry["command"])
        # The tree may stand elsewhere next time: what is remembered must not name the place.
        command = " ".join(self.arguments).replace(str(root), "ROOT")
        self.identity = sha(judged_by, self.name, command)
        self.memory = cache / f"{sha(self.name)}.json"

    def is_known_clean(self) -> bool:
        for state in self._remembered():
            if state["identity"] == self.identity and state["inputs"] == self._fingerprint(state["files"]):
                os.utime(self.memory)
                return True
        return False

    def remember_clean(self, files: list[str], inputs: str) -> None:
        states = [{"identity": self.identity, "files": files, "inputs": inputs}, *self._remembered()]
        draft = self.memory.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(states[:KEEP_STATES]))
        draft.replace(self.memory)

    def _remembered(self) -> list[dict]:
        """The states in which the file was clean, the latest first."""
        try:
            states = json.loads(self.memory.read_text())
        except (OSError, ValueError):
            return []
        return states if isinstance(states, list) else []

    def judge(self) -> str:
        """What clang-tidy says, empty when the file is clean."""
        # Read before tidy runs: an edit made meanwhile must not pass as judged.
        files = self._included_files()
        inputs = self._fingerprint(files) if files else None
        result = subprocess.run(
            [TIDY, "--quiet", "--warnings-as-errors=*", "-p", self.root / "build/lint", self.path],
            cwd=self.directory, check=False, capture_output=True, text=True,
        )
        if result.returncode == 0:
            if inputs is not None:
                self.remember_clean(files, inputs)
            return ""
        lines = [line for line in (result.stdout + result.stderr).splitlines() if not NOISE.match(line)]
        return self._in_tree_paths("\n".join(lines)) or f"{self.name}: {TIDY} exits {result.returncode}"

    def _included_files(self) -> list[str]:
        """The source and every file it includes; those of the tree as ROOT/... Empty when it does not preprocess."""
        command = [word for word in self.arguments if word not in ("-c", "-fsyntax-only")]
        if "-o" in command:
            at = command.index("-o")
            del command[at:at + 2]
        result = subprocess.run([*command, "-M", "-w"], cwd=self.directory, check=False, capture_output=True, text=True)
        if result.returncode != 0:
            return []
        listed = re.sub(r"\\\n", " ", result.stdout).split(": ", 1)[-1]
        names = [re.sub(r"\\(.)", r"\1", name) for name in re.findall(r"(?:\\.|\S)+", listed)]
        paths = {str((Path(self.directory) / name).resolve()) for name in names}
        return sorted(path.replace(f"{self.root}/", "ROOT/", 1) for path in paths)

    def _fingerprint(self, files: list[str]) -> str:
        return sha(*(fingerprint(self.root, name) for name in files))

    def _in_tree_paths(self, text: str) -> str:
        return text.replace(f"{self.root}/build/lint/include/weft/", "").replace(f"{self.root}/", "")


@lru_cache(maxsize=None)
def fingerprint(root: Path, name: str) -> str:
    if name.startswith("ROOT/"):
        path = root / name.removeprefix("ROOT/")
        return name + (sha(path.read_text(errors="replace")) if path.exists() else "")
    try:
        status = os.stat(name)
    except FileNotFoundError:
        return f"{name} is not there"
    return f"{name} {status.st_size} {status.st_mtime_ns}"


def judged_by(root: Path) -> str:
    """The tool and every profile of the tree."""
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True, text=True).stdout
    profiles = [path for path in tree.files(root) if path.split("/")[-1] == ".clang-tidy"]
    return sha(version, *(path + (root / path).read_text() for path in profiles))


def sources(root: Path, cache: Path) -> list[Source]:
    commands = root / "build/lint/compile_commands.json"
    if not commands.exists():
        tree.fail("build/lint is not configured. To do: cmake --preset lint -DWEFT_BENCH=ON")
    ours = {path for path in tree.files(root) if path.endswith(tree.CPP_ENDINGS)}
    judged = judged_by(root)
    found = {}
    for entry in json.loads(commands.read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        if path.is_relative_to(root) and str(path.relative_to(root)) in ours:
            source = Source(entry, root, cache, judged)
            found.setdefault(source.name, source)
    return [found[name] for name in sorted(found)]


def forget_old(cache: Path) -> None:
    for memory in cache.iterdir():
        if memory.stat().st_mtime < time.time() - KEEP_DAYS * 86400:
            memory.unlink(missing_ok=True)


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent.parent).resolve()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft/tidy"
    cache.mkdir(parents=True, exist_ok=True)
    forget_old(cache)
    every = sources(root, cache)
    changed = [source for source in every if not source.is_known_clean()]
    print(f"{len(changed)} of {len(every)} files to look at", file=sys.stderr)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        said = [text for text in pool.map(Source.judge, changed) if text]
    # A header is reported by every source that includes it: print each block once.
    blocks = dict.fromkeys(block for text in said for block in re.split(r"\n(?=\S+:\d+:\d+: (?:error|warning):)", text))
    if blocks:
        print("\n".join(blocks))
        print("To do: mend each, or excuse it on its line with // NOLINT(check-name): why. clang-tidy-19 -p build/lint "
              "--fix FILE mends many.")
    return 1 if blocks else 0


if __name__ == "__main__":
    sys.exit(main())
