#!/usr/bin/env python3
"""What loading a model costs those who talk to another one.

    bench/net/load_beside.py build/release/cli/weft SMALL BIG [--device cuda:0]

Serves SMALL and BIG in one process. Streams of SMALL run all the time; of the time between two of their tokens the 99th percentile is
taken while nothing else happens, and while BIG is loaded, in turn; and of the whole second in which that began. Prints a row a round and the median of the ratios, and exits 1
where that is above 1.5. Needs a machine on which nothing else runs."""

import argparse
import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

BAR = 1.5


class Streams:
    """Requests that stream one after the other, and when their tokens came."""

    def __init__(self, port: int, count: int) -> None:
        self._port = port
        self._gaps: list[tuple[float, float]] = []  # when, and seconds since the token before
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(count)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def percentile(self, begin: float, end: float) -> float:
        """Seconds between two tokens that 99 of 100 did not take, of those that came in that time."""
        with self._lock:
            gaps = sorted(gap for when, gap in self._gaps if begin <= when < end)
        if not gaps:
            sys.exit(f"no token came in {end - begin:.2f} s")
        return gaps[len(gaps) * 99 // 100]

    def _run(self, number: int) -> None:
        while not self._stopping.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            body = {"model": "small", "prompt": f"Once upon a time, {number}", "max_tokens": 400, "stream": True, "ignore_eos": True}
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                sys.exit(f"{response.status}: {response.read().decode()}")
            before = None
            while line := response.readline():
                if not line.startswith(b"data:"):
                    continue
                now = time.monotonic()
                if before is not None:
                    with self._lock:
                        self._gaps.append((now, now - before))
                before = now
            connection.close()


def post(port: int, path: str, body: Any) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read().decode()
    if response.status != 200:
        sys.exit(f"{path}: {response.status}: {text}")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    """Until the server is ready."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            if server.poll() is not None:
                sys.exit("the server has ended")
        finally:
            connection.close()
        time.sleep(0.1)


def config(arguments: argparse.Namespace, port: int) -> str:
    models = [("small", arguments.small, "true"), ("big", arguments.big, "false")]
    text = f'[server]\nport = {port}\n[device]\nname = "{arguments.device}"\n'
    for name, path, load in models:
        text += f'[[models]]\nname = "{name}"\npath = "{Path(path).resolve()}"\nload = {load}\nmemory.max_rows = {arguments.streams}\n'
        text += "memory.max_context = 512\n"
    return text


def measure(port: int, arguments: argparse.Namespace) -> list[float]:
    streams = Streams(port, arguments.streams)
    ratios = []
    try:
        time.sleep(2)
        print(f"{'round':>5} {'load s':>7} {'p99 alone ms':>13} {'p99 beside ms':>14} {'ratio':>6} {'of that second':>15}")
        for number in range(arguments.rounds):
            began = time.monotonic()
            time.sleep(max(arguments.seconds, 1))
            loads = time.monotonic()
            post(port, "/v1/models/load", {"model": "big"})
            loaded = time.monotonic()
            time.sleep(max(1.2 - (loaded - loads), 0.2))
            alone, beside = streams.percentile(began, loads), streams.percentile(loads, loaded)
            second = streams.percentile(loads, max(loads + 1, loaded))
            post(port, "/v1/models/unload", {"model": "big"})
            ratios.append(beside / alone)
            figures = f"{alone * 1e3:>13.2f} {beside * 1e3:>14.2f} {ratios[-1]:>6.2f} {second / alone:>15.2f}"
            print(f"{number:>5} {loaded - loads:>7.2f} {figures}", flush=True)
    finally:
        streams.stop()
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("small")
    parser.add_argument("big")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of each time in which nothing is loaded")
    arguments = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weft.toml"
        file.write_text(config(arguments, port))
        with subprocess.Popen([arguments.program, "serve", "--config", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                wait_for(server, port)
                ratios = measure(port, arguments)
            finally:
                server.terminate()
    median = statistics.median(ratios)
    print(f"median of the ratios: {median:.2f} [{min(ratios):.2f}, {max(ratios):.2f}] (bar {BAR})")
    sys.exit(0 if median <= BAR else 1)


if __name__ == "__main__":
    main()
