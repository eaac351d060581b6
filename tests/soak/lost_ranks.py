#!/usr/bin/env python3
"""Ranks that are killed, or stopped, at any moment: every process ends, and every client hears of it."""

import collections
import os
import random
import signal
import tempfile
import threading
import time
from pathlib import Path

from soak import Rows, parse

from rank_processes import Ranks
from raw_http import RawClient

CLIENTS = 6
LATEST_S = 0.5
SILENCE_S = 2.0  # device.rank_timeout_s
ENDS_WITHIN_S = 10.0
PARTITIONS = {"cpu,cpu": 2, "cpu | cpu": 2, "cpu,cpu | cpu": 3}
LOST = 70


def ask(port: int, ends: collections.Counter[str]) -> None:
    """Streams until the server says no more; a stream that ends must say how."""
    while True:
        try:
            with RawClient(port) as raw:
                raw.post("/v1/completions", {"prompt": "Once", "max_tokens": 300, "ignore_eos": True, "stream": True})
                answer = raw.read()
        except (OSError, AssertionError, ValueError):
            ends["connection ended"] += 1
            return
        body = answer.body.decode()
        if answer.status == 200 and body.endswith("data: [DONE]\n\n"):
            ends["answered"] += 1
            continue
        lost = "device_failed" in body or "not_ready" in body  # which of them is a matter of who hears of it first
        ends["server lost" if lost else "refused" if answer.status == 503 else body[-200:]] += 1
        return


def lose_one(folder: Path, dice: random.Random, ends: collections.Counter[str]) -> str:
    """Returns what was wrong, or nothing."""
    partition, processes = dice.choice(list(PARTITIONS.items()))
    transport = dice.choice(["memory", "network"])
    ranks = Ranks(folder, partition, processes, SILENCE_S, {"rank_transport": transport})
    everyone = [ranks.server.process, *ranks.followers]
    victim = dice.choice(everyone)
    stopped = dice.random() < 0.2
    clients = [threading.Thread(target=ask, args=(ranks.server.port, ends)) for _ in range(CLIENTS)]
    try:
        for client in clients:
            client.start()
        time.sleep(dice.uniform(0, LATEST_S))  # the random moment
        victim.send_signal(signal.SIGSTOP if stopped else signal.SIGKILL)
        late = time.monotonic() + ENDS_WITHIN_S
        for process in everyone:
            if process is victim:
                continue
            while process.poll() is None and time.monotonic() < late:
                time.sleep(0.02)
            if process.poll() != LOST:
                return f"{partition}: {'stopped' if stopped else 'killed'}, another ended with {process.poll()}"
    finally:
        ranks.kill()
        for client in clients:
            client.join()
    return ""


def main() -> None:
    options = parse(__doc__, ("--times", int, 100, "how often"))
    rows = Rows("ranks")
    dice = random.Random(options.seed)
    ends: collections.Counter[str] = collections.Counter()
    shared = set(os.listdir("/dev/shm"))
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        for number in range(options.times):
            folder = Path(name) / str(number)
            folder.mkdir()
            if what := lose_one(folder, dice, ends):
                wrong.append(what)
    rows.add(f"{options.times} x SIGKILL or SIGSTOP of a random rank under load",
             f"every other process ends with {LOST} within {ENDS_WITHIN_S:.0f} s",
             f"{options.times - len(wrong)} did {wrong[:3]}", not wrong)
    known = {"answered", "server lost", "refused", "connection ended"}
    rows.add("their requests", "each ends: answered, device_failed, not_ready, or with the process that was killed",
             f"{dict(ends)}", set(ends) <= known)
    left = [one for one in os.listdir("/dev/shm") if one.startswith("weft-") and one not in shared]
    rows.add("shared memory left behind", "none", str(len(left)), not left)
    rows.exit()


if __name__ == "__main__":
    main()
