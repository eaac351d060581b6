"""Clients that are killed at random moments. WEFT_SOAK_SECONDS says for how long; WEFT_SOAK_SEED replays."""

import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import soak_client
from conftest import StartServer
from soak_client import KINDS
from waiting import eventually

CLIENT = Path(soak_client.__file__)
CLIENTS = 30
LONGEST_LIFE_S = 1.5

# Memory is judged where it has had time to settle. Within ten minutes some 20,000 clients die: a leak of 1 KiB
# for each would be 12 MiB between the two stretches that are compared.
MEMORY_SETTLES_S = 120
MEMORY_MAY_GROW_KIB = 6 * 1024


def growth(memory: list[int]) -> float:
    """KiB from the second fifth of the time to the last, medians of each."""
    fifth = max(1, len(memory) // 5)
    return statistics.median(memory[-fifth:]) - statistics.median(memory[fifth:2 * fifth])


def test_nothing_is_left_of_clients_that_are_killed(start_server: StartServer):
    seconds = float(os.environ.get("WEFT_SOAK_SECONDS", "5"))
    seed = int(os.environ.get("WEFT_SOAK_SEED", str(time.time_ns() % 2**32)))
    print(f"WEFT_SOAK_SEED={seed}")
    dice = random.Random(seed)
    server = start_server(limits={"max_stored_responses": 10})  # what is kept on purpose is soon all there
    descriptors = server.descriptors()
    memory: list[int] = []

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
        assert server.process.poll() is None, server.log()
        if time.monotonic() < end:
            clients.append(begin())
            memory.append(server.memory())
    assert killed >= CLIENTS
    server.wait_until_idle()
    eventually(lambda: server.descriptors() <= descriptors, "no connection is left")
    print(f"{killed} clients killed, memory {memory[0]} .. {max(memory)} KiB, grown by {growth(memory)} KiB")
    if seconds >= MEMORY_SETTLES_S and not server.is_sanitized():
        assert growth(memory) <= MEMORY_MAY_GROW_KIB, memory[::max(1, len(memory) // 100)]
    assert server.get("/health") == {"status": "ok"}
