#!/usr/bin/env python3
"""Goodput under overload: output tokens a second of requests that are answered whole and in time, at ten times the
load that the server can carry, beside the most that it gives at any lower load. Measured in turn, several times.

Whoever asks ten times as often works ten times as much, here on the server's own processors. So each load also says
what processor time the server had, and what its clients had; and with --apart the two have processors of their own."""

import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soak import Rows, WeftServer, parse, program

# Twice the rows: enough to fill those that are free at once, and a wait of a few seconds.
ROWS, AT_ONCE = 16, 32
CONFIG = {"memory": {"max_rows": ROWS, "max_pages": 16384}, "edge": {"max_queued_requests": AT_ONCE}}
# As large as those of load.py at most. With far smaller ones the demo model carries so many that the client's own work,
# on the same processors, is what is measured.
SHAPE = ("--api", "completions", "--input", "64..256", "--output", "32..64")
FACTORS = (1.0, 1.5, 2.0)
OVERLOAD = 10.0


TICKS = os.sysconf("SC_CLK_TCK")


def server_seconds(server: WeftServer) -> float:
    """Processor time that the server has had."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def client_seconds() -> float:
    """Processor time of all clients so far, and of this script, which reads the server's log."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@dataclass
class Load:
    """The outcome of a load."""
    goodput: float  # tokens a second
    per_server_second: float  # tokens for each second of a processor that the server had
    server: float  # processors in use, on average
    clients: float


def play(url: str, report: Path, *options: str) -> dict[str, Any]:
    subprocess.run([program(), "bench", "serve", url, *SHAPE, *options, "--json", str(report)], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(report.read_text())["data"]


def measure(server: WeftServer, report: Path, rate: float, seconds: float, seed: int, in_time: float) -> Load:
    began, before, clients_before = time.monotonic(), server_seconds(server), client_seconds()
    data = play(server.url, report, "--arrivals", "poisson", "--rate", f"{rate:.2f}", "--requests",
                str(int(rate * seconds)), "--seed", str(seed))
    took, used = time.monotonic() - began, server_seconds(server) - before
    good = [one for one in data["requests"] if not one["error"] and end_of(one) - one["due"] <= in_time]
    # A rate is that of a server whose rows have filled, until the load ends.
    begin = 0.2 * seconds
    tokens = sum(one["output"] for one in good if begin <= end_of(one) <= seconds)
    return Load(tokens / (seconds - begin), sum(one["output"] for one in good) / used, used / took,
                (client_seconds() - clients_before) / took)


def end_of(one: dict[str, Any]) -> float:
    return one["sent"] + one["end"]  # a report counts the end from the moment of sending


def start_apart(folder: Path) -> WeftServer:
    """Starts the server on one processor, and leaves the others to the clients."""
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        raise SystemExit("overload: --apart wants two processors")
    os.sched_setaffinity(0, {first})
    server = WeftServer(folder, CONFIG)
    os.sched_setaffinity(0, set(others))
    return server


def main() -> None:
    options = parse(__doc__, ("--seconds", float, 20.0, "of each load"), ("--rounds", int, 5, "how often each"),
                    ("--apart", bool, False, "the server on one processor, its clients on the others"))
    rows = Rows("overload")
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.json"
        server = start_apart(Path(name) / "server") if options.apart else WeftServer(Path(name) / "server", CONFIG)
        capacity = play(server.url, report, "--requests", "300", "--concurrency", str(ROWS))["requests_per_second"]
        in_time = 2 * AT_ONCE / capacity  # twice what a full house takes
        loads: dict[float, list[Load]] = {factor: [] for factor in (*FACTORS, OVERLOAD)}
        for number in range(options.rounds):
            for factor in (*FACTORS, OVERLOAD):
                rate = factor * capacity
                loads[factor].append(measure(server, report, rate, options.seconds, options.seed + number, in_time))
                server.wait_until_idle()
        server.stop()
    say(rows, loads, capacity)
    rows.exit()


def say(rows: Rows, loads: dict[float, list[Load]], capacity: float) -> None:
    # The factor first and then its median: the best of three factors in each round would be their luck, too.
    peak = max(FACTORS, key=lambda factor: median(loads[factor], "goodput"))
    if min(load.goodput for load in loads[peak]) == 0:
        raise SystemExit("overload: no answer came in time in a whole round: the machine is busy")
    ratios = [most.goodput / best.goodput for most, best in zip(loads[OVERLOAD], loads[peak])]
    ratio = statistics.median(ratios)
    rows.add(f"goodput at {OVERLOAD:.0f}x {capacity:.1f} requests/s", ">= 0.97 of the peak",
             f"{ratio:.3f} ({min(ratios):.3f} .. {max(ratios):.3f} over {len(ratios)}): " + "; ".join(
                 f"{factor:g}x {median(many, 'goodput'):.0f} tokens/s, the server had {median(many, 'server'):.2f} "
                 f"processors, its clients {median(many, 'clients'):.2f}" for factor, many in loads.items()),
             ratio >= 0.97)
    shares = [most.per_server_second / best.per_server_second for most, best in zip(loads[OVERLOAD], loads[peak])]
    rows.add("the same for each second of a processor that the server had", ">= 0.97 of the peak's",
             f"{statistics.median(shares):.3f} ({min(shares):.3f} .. {max(shares):.3f}): "
             f"{median(loads[OVERLOAD], 'per_server_second'):.0f} of "
             f"{median(loads[peak], 'per_server_second'):.0f} tokens",
             statistics.median(shares) >= 0.97)


def median(loads: list[Load], field: str) -> float:
    return statistics.median(getattr(load, field) for load in loads)


if __name__ == "__main__":
    main()
