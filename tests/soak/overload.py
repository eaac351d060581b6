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

IN_TIME_S = 10.0  # to the end of an answer
# Twice the rows: enough to fill the next rows at once, and a wait of a few seconds.
CONFIG = {"memory": {"max_rows": 32, "max_pages": 32768}, "edge": {"max_queued_requests": 64}}
SHAPE = ("--api", "completions", "--input", "16..128", "--output", "16..64")
FACTORS = (1.0, 1.5, 2.0)
OVERLOAD = 10.0


def play(url: str, report: Path, *options: str) -> dict[str, Any]:
    subprocess.run([program(), "bench", "serve", url, *SHAPE, *options, "--json", str(report)], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(report.read_text())["data"]


def goodput(data: dict[str, Any], seconds: float) -> float:
    """Tokens a second of good answers, once the rows have filled and until the load ends."""
    begin = 0.2 * seconds
    good = sum(one["output"] for one in data["requests"]
               if not one["error"] and one["end"] - one["due"] <= IN_TIME_S and begin <= one["end"] <= seconds)
    return good / (seconds - begin)


def main() -> None:
    options = parse(__doc__, ("--seconds", float, 20.0, "of each load"), ("--rounds", int, 5, "how often each"))
    rows = Rows("overload")
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.json"
        server = WeftServer(Path(name) / "server", CONFIG)
        capacity = play(server.url, report, "--requests", "300", "--concurrency", "48")["requests_per_second"]
        ratios, peaks, most = [], [], []
        for number in range(options.rounds):
            good: dict[float, float] = {}
            for factor in (*FACTORS, OVERLOAD):
                rate = factor * capacity
                data = play(server.url, report, "--arrivals", "poisson", "--rate", f"{rate:.2f}", "--requests",
                            str(int(rate * options.seconds)), "--seed", str(options.seed + number))
                good[factor] = goodput(data, options.seconds)
                server.wait_until_idle()
            peak = max(good[factor] for factor in FACTORS)
            peaks.append(peak)
            most.append(good[OVERLOAD])
            ratios.append(good[OVERLOAD] / peak)
        ratio = statistics.median(ratios)
        rows.add(f"goodput at {OVERLOAD:.0f}x {capacity:.1f} requests/s", ">= 0.97 of the peak",
                 f"{ratio:.3f} ({min(ratios):.3f} .. {max(ratios):.3f} over {options.rounds}): "
                 f"{statistics.median(most):.0f} of {statistics.median(peaks):.0f} tokens/s", ratio >= 0.97)
        server.stop()
    rows.exit()


if __name__ == "__main__":
    main()
