#!/usr/bin/env python3
"""SIGTERM under load, over and over: the server ends with 0, and every request gets its whole answer or is refused."""

import collections
import random
import signal
import socket
import tempfile
import threading
import time
from pathlib import Path

from soak import Rows, WeftServer, parse

from clients import REFUSED, is_whole
from raw_http import RawClient

CLIENTS = 16
LATEST_S = 0.8
# Between the last accept and the close the system may connect somebody, whom the close resets.
RESETS = 0.001
PAUSE_S = 0.01  # of whoever was refused
CONFIG = {"memory": {"max_rows": 32, "max_pages": 4096}, "server": {"drain_timeout_s": 60}}


def ask_until_it_ends(port: int, dice: random.Random, ends: collections.Counter[str], wrong: list[str]) -> None:
    """Asks again and again until the server takes no connections any more."""
    while True:
        body = {"prompt": "Once", "max_tokens": dice.choice([1, 10, 40]), "n": dice.randint(1, 2), "ignore_eos": True,
                "stream": dice.random() < 0.7}
        try:
            raw = RawClient(port)
        except OSError:  # it does not listen any more
            ends["no connection"] += 1
            return
        with raw:
            try:
                raw.post("/v1/completions", body).socket.recv(1, socket.MSG_PEEK)
            except ConnectionError:  # the system had connected it, and the server had closed before it could accept
                ends["reset unanswered"] += 1
                continue
            try:
                answer = raw.read()
            except (OSError, AssertionError, ValueError) as failure:
                wrong.append(f"{type(failure).__name__}: {failure}")
                return
        if answer.status in REFUSED:
            ends["refused"] += 1
            time.sleep(PAUSE_S)
        elif answer.status == 200 and (not body["stream"] or is_whole(answer.body.decode(), body["n"])):
            whole = body["stream"] or len(answer.json()["choices"]) == body["n"]
            ends["answered"] += 1
            if not whole:
                wrong.append("choices are missing")
        else:
            wrong.append(f"{answer.status}: {answer.body[-200:]!r}")


def end_once(folder: Path, dice: random.Random, ends: collections.Counter[str], wrong: list[str]) -> int:
    server = WeftServer(folder, CONFIG)
    threads = [threading.Thread(target=ask_until_it_ends,
                                args=(server.port, random.Random(dice.randrange(2**32)), ends, wrong))
               for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(dice.uniform(0, LATEST_S))  # the random moment
    server.kill(signal.SIGTERM)
    status = server.wait()
    for thread in threads:
        thread.join()
    server.expect_clean_log()
    return status


def main() -> None:
    options = parse(__doc__, ("--times", int, 100, "how often"))
    rows = Rows("terms")
    dice = random.Random(options.seed)
    statuses: collections.Counter[int] = collections.Counter()
    ends: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        for number in range(options.times):
            statuses[end_once(Path(name) / str(number), dice, ends, wrong)] += 1
    rows.add(f"{options.times} x SIGTERM under load", "exit 0 each time", f"{dict(statuses)}",
             statuses[0] == options.times)
    rows.add("their requests", f"each answered whole or refused; at most {RESETS:.1%} reset before they were accepted",
             f"{dict(ends)}, cut short {len(wrong)} {wrong[:5]}",
             not wrong and ends["answered"] > 0 and ends["reset unanswered"] <= RESETS * ends.total())
    rows.exit()


if __name__ == "__main__":
    main()
