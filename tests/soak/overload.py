#!/usr/bin/env python3
"""Goodput under overload: output tokens a second of requests that are answered whole and in time, at ten times the
load that the server can carry, beside the most that it gives at any lower load. Measured in turn, several times."""

import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from soak import Rows, WeftServer, parse, program

# Twice the rows: enough to fill those that are free at once, and a wait of a few seconds.
ROWS, AT_ONCE = 16, 32
CONFIG = {"memory": {"max_rows": ROWS, "max_pages": 16384}, "edge": {"max_queued_requests": AT_ONCE}}
SHAPE = ("--api", "completions", "--input", "8..48", "--output", "4..24")
FACTORS = (1.0, 1.5, 2.0)
OVERLOAD = 10.0


def play(url: str, report: Path, *options: str) -> dict[str, Any]:
    subprocess.run([program(), "bench", "serve", url, *SHAPE, *options, "--json", str(report)], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(report.read_text())["data"]


def goodput(data: dict[str, Any], seconds: float, in_time: float) -> float:
    """Tokens a second of answers that end in time, once the rows have filled and until the load ends."""
    begin = 0.2 * seconds
    good = sum(one["output"] for one in data["requests"]
               if not one["error"] and one["end"] - one["due"] <= in_time and begin <= one["end"] <= seconds)
    return good / (seconds - begin)


def main() -> None:
    options = parse(__doc__, ("--seconds", float, 20.0, "of each load"), ("--rounds", int, 5, "how often each"))
    rows = Rows("overload")
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.json"
        server = WeftServer(Path(name) / "server", CONFIG)
        capacity = play(server.url, report, "--requests", "300", "--concurrency", str(ROWS))["requests_per_second"]
        in_time = 2 * AT_ONCE / capacity  # twice what a full house takes
        ratios, peaks, most = [], [], []
        for number in range(options.rounds):
            good: dict[float, float] = {}
            for factor in (*FACTORS, OVERLOAD):
                rate = factor * capacity
                data = play(server.url, report, "--arrivals", "poisson", "--rate", f"{rate:.2f}", "--requests",
                            str(int(rate * options.seconds)), "--seed", str(options.seed + number))
                good[factor] = goodput(data, options.seconds, in_time)
                server.wait_until_idle()
            peak = max(good[factor] for factor in FACTORS)
            peaks.append(peak)
            most.append(good[OVERLOAD])
            ratios.append(good[OVERLOAD] / peak if peak > 0 else 0.0)
        ratio = statistics.median(ratios)
        rows.add(f"goodput at {OVERLOAD:.0f}x {capacity:.1f} requests/s", ">= 0.97 of the peak",
                 f"{ratio:.3f} ({min(ratios):.3f} .. {max(ratios):.3f} over {options.rounds}): "
                 f"{statistics.median(most):.0f} of {statistics.median(peaks):.0f} tokens/s", ratio >= 0.97)
        server.stop()
    rows.exit()


if __name__ == "__main__":
    main()
