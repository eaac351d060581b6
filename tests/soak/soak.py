"""The common parts of the soak: a server that is watched, and rows of the printed table."""

import argparse
import os
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e/fixture"))
sys.dont_write_bytecode = True

from waiting import eventually  # noqa: E402
from weft_server import MODEL, WeftServer, program  # noqa: E402

TRACE = ROOT.parent / "shared/data/traces/AzureLLMInferenceTrace_code.csv"
SKIPPED = 77  # what ctest takes for "skipped"

# The server gives free memory back two seconds after its last request (cli/serve/serving.cc).
SETTLES_S = 4.5


def parse(description: str | None, *options: tuple[str, type, Any, str]) -> argparse.Namespace:
    """Reads the command line; every part has --program and --seed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--program", default=os.environ.get("WEFT_PROGRAM", str(ROOT / "build/release/cli/weft")))
    parser.add_argument("--seed", type=int, default=1)
    for name, kind, default, words in options:
        if kind is bool:
            parser.add_argument(name, action="store_true", help=words)
        else:
            parser.add_argument(name, type=kind, default=default, help=f"{words} ({default})")
    found = parser.parse_args()
    os.environ["WEFT_PROGRAM"] = str(Path(found.program).resolve())
    return found


class Rows:
    """The rows of a part. Each is printed when it is known."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._failed = False

    def add(self, what: str, bar: str, seen: str, holds: bool) -> None:
        self._failed |= not holds
        print(f"| {self._part} | {what} | {bar} | {seen} | {'PASS' if holds else 'FAIL'} |", flush=True)

    def exit(self) -> None:
        sys.exit(1 if self._failed else 0)


def copied_model(folder: Path) -> Path:
    """A copy of the demo model, which may vanish."""
    return Path(shutil.copytree(MODEL, folder / "model"))


def threads(server: WeftServer) -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def at_rest(server: WeftServer) -> int:
    """KiB of anonymous memory once nothing runs and what is free has been given back."""
    server.wait_until_idle()
    time.sleep(SETTLES_S)
    return server.memory()


def slope(points: list[tuple[float, float]]) -> float:
    """The median of the slopes between all pairs of points (Theil and Sen), which single outliers do not move."""
    slopes = [(y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(points) for x2, y2 in points[i + 1:]]
    return statistics.median(slopes) if slopes else 0.0


def expect_descriptors(server: WeftServer, at_most: int) -> int:
    """Waits until connections that have ended are gone, and returns how many descriptors are open."""
    try:
        eventually(lambda: server.descriptors() <= at_most, "no connection is left")
    except AssertionError:
        pass
    return server.descriptors()
