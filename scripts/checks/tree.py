"""The files of the tree, and how a check reports what it found in them."""

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
