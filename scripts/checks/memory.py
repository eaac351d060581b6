"""A check's memory of clean sources, so that it examines only changed sources again.

A source that was clean is skipped until something it was judged by changes: the check's own settings, the compile command,
or any file it includes. Those are compared by content when they belong to the tree, else by size and time. The memory is
kept in $XDG_CACHE_HOME/weft/<check> (~/.cache by default), for all clones of the tree and the last few states of each
source; deleting that folder is always safe.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

KEEP_DAYS = 60
KEEP_STATES = 8
# The whole tree has its turn within so many days.
SHARES = 14
LAST_COMMITS = 10
MOST_CHANGED = 60
# A changed header makes a source due only where so few sources include it: one that many include is judged with those of
# them that have changed.
FEW_INCLUDERS = 6


def sha(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def folder(check: str) -> Path:
    """The folder of a check's memory; entries that were unused for a while are removed."""
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft" / check
    place.mkdir(parents=True, exist_ok=True)
    for memory in place.iterdir():
        if memory.stat().st_mtime < time.time() - KEEP_DAYS * 86400:
            memory.unlink(missing_ok=True)
    return place


class Source:
    """A file that a compile command names, and what is remembered of it."""

    def __init__(self, entry: dict, file: Path, root: Path, place: Path, judged_by: str):
        self.root = root
        self.directory = entry["directory"]
        self.path = file
        self.name = str(file.relative_to(root))
        # An entry may compile another file with the same flags: a batch that this one belongs to.
        compiled = str(Path(self.directory) / entry["file"])
        words = entry.get("arguments") or shlex.split(entry["command"])
        self.arguments = [str(file) if word in (entry["file"], compiled) else word for word in words]
        # The tree may stand elsewhere next time: what is remembered must not name the place.
        command = " ".join(self.arguments).replace(str(root), "ROOT")
        self.identity = sha(judged_by, self.name, command)
        self.memory = place / f"{sha(self.name)}.json"

    def is_known_clean(self) -> bool:
        for state in self._remembered():
            if state["identity"] == self.identity and state["inputs"] == self._fingerprint(state["files"]):
                os.utime(self.memory)
                return True
        return False

    def judge_with(self, command: list[str | Path]) -> subprocess.CompletedProcess:
        """Runs the command in the folder of the compile command; the source is remembered when it exits with 0."""
        # Read before the command runs: an edit made meanwhile must not pass as judged.
        files = self._included_files()
        inputs = self._fingerprint(files) if files else None
        result = subprocess.run(command, cwd=self.directory, check=False, capture_output=True, text=True)
        if result.returncode == 0 and inputs is not None:
            self._remember_clean(files, inputs)
        return result

    def in_tree_paths(self, text: str) -> str:
        return text.replace(f"{self.root}/build/lint/include/weft/", "").replace(f"{self.root}/", "")

    def without_output(self) -> list[str]:
        """The compile command, without what it writes."""
        command = [word for word in self.arguments if word not in ("-c", "-fsyntax-only")]
        if "-o" in command:
            at = command.index("-o")
            del command[at:at + 2]
        return command

    def _remember_clean(self, files: list[str], inputs: str) -> None:
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

    def _included_files(self) -> list[str]:
        """The source and every file it includes; those of the tree as ROOT/... Empty when it does not preprocess."""
        result = subprocess.run(
            [*self.without_output(), "-M", "-w"], cwd=self.directory, check=False, capture_output=True, text=True)
        if result.returncode != 0:
            return []
        listed = re.sub(r"\\\n", " ", result.stdout).split(": ", 1)[-1]
        names = [re.sub(r"\\(.)", r"\1", name) for name in re.findall(r"(?:\\.|\S)+", listed)]
        paths = {str((Path(self.directory) / name).resolve()) for name in names}
        return sorted(path.replace(f"{self.root}/", "ROOT/", 1) for path in paths)

    def _fingerprint(self, files: list[str]) -> str:
        return sha(*(fingerprint(self.root, name) for name in files))


@lru_cache(maxsize=None)
def fingerprint(root: Path, name: str) -> str:
    if name.startswith("ROOT/"):
        path = root / name.removeprefix("ROOT/")
        return name + (sha(path.read_text(errors="replace").replace(str(root), "ROOT")) if path.exists() else "")
    try:
        status = os.stat(name)
    except FileNotFoundError:
        return f"{name} is not there"
    return f"{name} {status.st_size} {status.st_mtime_ns}"


def look_at(root: Path, sources_of: dict[Source, list[str]], judge: Callable[[Source], str], what: str,
            shares: int = SHARES) -> Iterator[str]:
    """What `judge` says, if anything, of those that are due and not known as clean, on all processors; of the whole tree
    with --all. `what` they are called when they are counted."""
    due = list(sources_of) if "--all" in sys.argv else turn_of(root, sources_of, shares)
    looked_at = [source for source in due if not source.is_known_clean()]
    print(f"{len(looked_at)} of {len(sources_of)} {what} to look at", file=sys.stderr)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        yield from filter(None, pool.map(judge, looked_at))


def turn_of(root: Path, sources_of: dict[Source, list[str]], shares: int) -> list[Source]:
    """The sources that a check looks at without memory of them: those that have changed lately, those that include a
    header that has, and a share that is another one each day."""
    endings = tuple({Path(name).suffix for names in sources_of.values() for name in names})
    changed = lately_changed(root, (*endings, ".h", ".cuh"))
    including = includers(root, sources_of, changed)
    return [each for each, names in sources_of.items()
            if changed.intersection(names) or each in including or is_due(each, shares)]


def includers(root: Path, sources_of: dict[Source, list[str]], changed: set[str]) -> set[Source]:
    """The sources that name a changed header in an #include, of each header at most FEW_INCLUDERS."""
    found = {}
    for each, names in sources_of.items():
        for name in names:
            for header in re.findall(r'^#include "weft/(.+)"$', (root / name).read_text(), re.MULTILINE):
                if header in changed:
                    found.setdefault(header, set()).add(each)
    return {each for sources in found.values() if len(sources) <= FEW_INCLUDERS for each in sources}


def lately_changed(root: Path, endings: tuple[str, ...]) -> set[str]:
    """The files with such endings that the working tree and the last commits have changed; those of fewer commits where they
    are many, as after files have moved."""
    changed = set()
    for count in range(LAST_COMMITS + 1):
        diff = subprocess.run(["git", "diff", "--name-only", "-M", "--diff-filter=AM", f"HEAD~{count}"], cwd=root,
                              check=False, capture_output=True, text=True)
        names = {name for name in diff.stdout.split() if name.endswith(endings)}
        if diff.returncode != 0 or len(names) > MOST_CHANGED:
            break
        changed |= names
    return changed


def is_due(source: Source, shares: int) -> bool:
    return int(sha(source.name), 16) % shares == int(time.time() // 86400) % shares
