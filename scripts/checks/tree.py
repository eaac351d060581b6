"""The files of the tree, and the report of a check's findings in them."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

CPP_ENDINGS = (".h", ".hpp", ".cc", ".cpp", ".cu", ".cuh", ".inc")


def files(root: Path) -> list[str]:
    """Paths from `root` of all files that are tracked, or would be if they were added."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=True, capture_output=True,
    ).stdout.decode()
    return sorted(path for path in set(listing.split("\0")) if path and (root / path).is_file())


def compiled(root: Path, build: str) -> list[tuple[dict, list[str]]]:
    """The entries of a build's compile_commands.json, each with the paths from `root` of the tree's sources that it
    compiles: one, or those that CMake has put into a batch. Empty when the build is not configured."""
    commands = root / build / "compile_commands.json"
    if not commands.exists():
        return []
    found = []
    for entry in json.loads(commands.read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        paths = [path]
        if path.parent.name == "Unity" and path.exists():
            paths = [Path(name).resolve() for name in re.findall(r'^#include "(.+)"$', path.read_text(), re.MULTILINE)]
        sources = [str(each.relative_to(root)) for each in paths if each.is_relative_to(root)]
        found.append((entry, [each for each in sources if not each.startswith("build/")]))
    return found


def run(own_tests: str, judge: Callable[[Path], list[str]]) -> int:
    """Runs a check's own tests, without which a rule that never fires looks like a clean tree; then judges the tree
    named on the command line, or this one, and prints the findings. Returns the exit status."""
    here = Path(__file__).resolve().parent
    tests = subprocess.run([sys.executable, "-B", here / own_tests], check=False, capture_output=True, text=True)
    if tests.returncode != 0:
        fail(f"{tests.stderr}scripts/checks/{own_tests} fails. To do: mend what the lines above name.")
    findings = judge(Path(sys.argv[1] if len(sys.argv) > 1 else here.parent.parent).resolve())
    for finding in findings:
        print(finding)
    return 1 if findings else 0


def fail(message: str) -> None:
    """Ends a check that cannot do its work."""
    print(message, file=sys.stderr)
    sys.exit(2)
