#!/usr/bin/env python3
"""Loads llama.cpp's server and Weft's, of the same checkpoint on the same processors, in turn:

    bench/net/llama_cpp_peer.py LLAMA_SERVER WEFT CHECKPOINT.gguf [--threads N] [--rounds N]

Both keep keys and values as f16, run at most 32 sequences, and are asked by `weft bench serve`; which is asked first changes
from round to round. Says for each load the tokens a second of both and how many times as many Weft's are: the median of
the rounds, the least and the most. bench/net/random_gguf.py writes a checkpoint.
"""

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROWS = 32
CONTEXT = 1024
PATIENCE_S = 120
LOADS = {
    "1 at a time": ["--concurrency", "1", "--requests", "4", "--output", "64"],
    "8 at once": ["--concurrency", "8", "--requests", "16", "--output", "64"],
    "32 at once": ["--concurrency", "32", "--requests", "64", "--output", "64"],
    "Poisson, 8 a second": ["--rate", "8", "--requests", "32", "--output", "4..128"],
}
SAME = ["--ids", "300..29999", "--input", "64", "--warm-up", str(ROWS)]


class Measured(NamedTuple):
    tokens_per_second: float
    first_token_ms: float
    between_ms: float


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args} has ended with {process.returncode}")
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            if urllib.request.urlopen(f"{url}/health").status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{process.args} is not ready after {PATIENCE_S} s")


@contextlib.contextmanager
def serving(command: list[str], port: int) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(port)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        wait_until_ready(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def measure(weft: Path, url: str, load: list[str], seed: int) -> Measured:
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run([weft, "bench", "serve", url, *SAME, *load, "--seed", str(seed), "--json", report.name], check=True,
                       stdout=subprocess.DEVNULL)
        data = json.loads(Path(report.name).read_text())["data"]
    if data["done"] != data["asked"]:
        raise RuntimeError(f"{url} has answered {data['done']} of {data['asked']}: {data['errors']}")
    return Measured(data["tokens_per_second"], 1e3 * data["first_token"]["p50"], 1e3 * data["between"]["p50"])


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def row_of(load: str, theirs: list[Measured], ours: list[Measured]) -> str:
    ratios = [our.tokens_per_second / their.tokens_per_second for our, their in zip(ours, theirs, strict=True)]
    cells = [load]
    for figure in zip(*theirs, strict=True), zip(*ours, strict=True):
        rate, first, between = (statistics.median(values) for values in figure)
        cells.append(f"{rate:.0f} ({first:.0f} ms, {between:.1f} ms)")
    return " | ".join(["", *cells, spread(ratios), ""]).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("llama_server", type=Path)
    parser.add_argument("weft", type=Path)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of each server (all processors)")
    parser.add_argument("--rounds", type=int, default=5)
    wanted = parser.parse_args()
    threads = str(wanted.threads)
    checkpoint = str(wanted.checkpoint)
    peer = [str(wanted.llama_server), "-m", checkpoint, "-t", threads, "-tb", threads, "-np", str(ROWS), "-c",
            str(ROWS * CONTEXT), "--cache-ram", "0"]
    weft = [str(wanted.weft), "serve", checkpoint, "--threads", threads, "--max-rows", str(ROWS), "--max-context",
            str(CONTEXT), "--kv-dtype", "f16"]
    print("| load | llama.cpp: tokens/s (first token, between tokens) | Weft | Weft over llama.cpp |\n| --- | --- | --- | --- |")
    with serving(peer, free_port()) as theirs_at, serving(weft, free_port()) as ours_at:
        seed = 0
        for load, options in LOADS.items():
            theirs, ours = [], []
            for number in range(wanted.rounds):
                seed += 1  # both are asked the same, and nothing that they have seen before
                turns = [(theirs, theirs_at), (ours, ours_at)]
                for measured, url in turns if number % 2 == 0 else reversed(turns):
                    measured.append(measure(wanted.weft, url, options, seed))
            print(row_of(load, theirs, ours), flush=True)


if __name__ == "__main__":
    main()
