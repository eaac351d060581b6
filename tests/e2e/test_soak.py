"""Clients that are killed at random moments. WEFT_SOAK_SECONDS says for how long; WEFT_SOAK_SEED replays."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from conftest import StartServer
from soak_client import KINDS
from waiting import eventually

CLIENT = Path(__file__).with_name("soak_client.py")
CLIENTS = 30
LONGEST_LIFE_S = 1.5


def test_nothing_is_left_of_clients_that_are_killed(start_server: StartServer):
    seconds = float(os.environ.get("WEFT_SOAK_SECONDS", "5"))
    seed = int(os.environ.get("WEFT_SOAK_SEED", str(time.time_ns() % 2**32)))
    print(f"WEFT_SOAK_SEED={seed}")
    dice = random.Random(seed)
    server = start_server()
    sockets = server.sockets()

    def begin() -> tuple[float, subprocess.Popen[bytes]]:
        arguments = [str(server.port), dice.choice(KINDS), str(dice.randrange(2**32))]
        client = subprocess.Popen([sys.executable, "-S", str(CLIENT), *arguments], stderr=subprocess.DEVNULL)
        return time.monotonic() + dice.uniform(0, LONGEST_LIFE_S), client

    end = time.monotonic() + seconds
    clients = [begin() for _ in range(CLIENTS)]
    killed = 0
    while clients:
        clients.sort(key=lambda entry: entry[0])
        dies, client = clients.pop(0)
        time.sleep(max(0.0, dies - time.monotonic()))  # the random moment
        client.send_signal(signal.SIGKILL)
        client.wait()
        killed += 1
        if time.monotonic() < end:
            clients.append(begin())
        assert server.process.poll() is None, server.log()
    assert killed >= CLIENTS
    server.wait_until_idle()
    eventually(lambda: server.sockets() <= sockets, "no connection is left")
    assert server.get("/health") == {"status": "ok"}
