#!/usr/bin/env python3
"""Attackers beside honest clients: whoever sends what costs much and is refused in the end, or does not read, takes
nothing from the others. Each attack is played after a while without one, and the honest clients of both are compared.

Attackers have an address of their own, and the lowest priority: from a machine of their own they would take no time of the
server's processors. Loads are attacks that a server cannot tell from many clients at work. A load has no bar; the same load
of clients that do nothing wrong is played beside it. Played again, where each address has limits, it has the bar."""

import argparse
import json
import multiprocessing
import os
import select
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from soak import Rows, WeftServer, at_rest, parse

from raw_http import RawClient
from waiting import PATIENCE_S

HONEST = 4  # clients, each with one request at a time
PAUSE_S = 0.02
BODY = 7_900_000  # bytes, a little less than the server takes
SLOWER = 3  # times the p99 without attackers
AFTER_GRAMMARS = 1.3  # times the memory at rest before clients came with grammars of their own
GROWTH_KIB = 8 * 1024  # of the memory at rest, from one round of all attacks to the next
STREAMS = 32  # at once, that one attacker leaves unread
# So few pages that the floods, which are played first, use them all: a page of the KV cache takes memory once it is used.
CONFIG: dict[str, Any] = {"memory": {"max_rows": 64, "max_pages": 2048}}
# The honest clients share an address: they have 4 connections, beside one for metrics, and ask less than 200 times a second.
LIMITS = {"limits": {"max_connections_per_address": 5, "max_requests_per_second_per_address": 200}}
LOWEST_PRIORITY = 19
# The port is chosen by connect(). Ports that bind() chooses are lost to honest clients for a minute after each connection.
IP_BIND_ADDRESS_NO_PORT = 24


def connect(port: int) -> RawClient:
    """As an attacker: not from the address of the honest clients."""
    connection = socket.socket()
    connection.settimeout(PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
    connection.bind(("127.0.0.2", 0))
    connection.connect(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return RawClient(connection)


def completion(fields: dict[str, Any]) -> tuple[str, bytes]:
    return "/v1/completions", json.dumps({"max_tokens": 1, **fields}).encode()


def long_prompt() -> tuple[str, bytes]:
    return completion({"prompt": "once " * (BODY // 5)})


def many_messages() -> tuple[str, bytes]:
    text = "once " * (BODY // 8192 // 5 - 10)
    return "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": text}] * 8192}).encode()


def shortened() -> tuple[str, bytes]:
    text = "once " * (BODY // 8192 // 5 - 12)
    items = [{"role": "user", "content": text}] * 8192
    return "/v1/responses", json.dumps({"input": items, "truncation": "auto", "max_output_tokens": 1}).encode()


def integers() -> tuple[str, bytes]:
    return completion({"prompt": [1] * (BODY // 3)})


def keys() -> tuple[str, bytes]:
    return completion({"prompt": "Once", **{f"k{i}": 0 for i in range(500_000)}})


def biases() -> tuple[str, bytes]:
    return completion({"prompt": "Once", "logit_bias": {str(i): 0 for i in range(500_000)}})


def tokens_of_a_text() -> tuple[str, bytes]:
    return "/tokenize", json.dumps({"prompt": "once " * (BODY // 5)}).encode()


def post_again_and_again(port: int, make: Callable[[], tuple[str, bytes]]) -> None:
    path, body = make()
    while True:
        try:
            with connect(port) as raw:
                while True:
                    raw.send_request("POST", path, body=body).read()
        except (OSError, AssertionError, ValueError):
            time.sleep(PAUSE_S)  # the server has hung up


def half_close(port: int) -> None:
    """Shuts its sending side down as soon as it has asked."""
    path, body = completion({"prompt": "Once", "max_tokens": 200, "ignore_eos": True, "stream": True})
    while True:
        try:
            with connect(port) as raw:
                raw.send_request("POST", path, body=body).socket.shutdown(socket.SHUT_WR)
                while raw.socket.recv(1 << 16):
                    pass
        except OSError:
            time.sleep(PAUSE_S)


def hold_streams(port: int, reads: bool) -> None:
    """Begins streams, and reads them or does not, for a second; then it leaves."""
    path, body = completion({"prompt": "Once", "max_tokens": 900, "ignore_eos": True, "stream": True})
    while True:
        streams = []
        for _ in range(STREAMS):
            try:
                streams.append(connect(port).send_request("POST", path, body=body))
            except OSError:
                break  # it has as many as its address may have
        end = time.monotonic() + 1
        while (left := end - time.monotonic()) > 0:
            if not reads:
                time.sleep(left)
                continue
            for ready in select.select([raw.socket for raw in streams], [], [], left)[0]:
                if not ready.recv(1 << 16):
                    streams = [raw for raw in streams if raw.socket is not ready]
        for raw in streams:
            raw.close()


def bring_grammars(port: int, client: int) -> None:
    """Asks for outputs after expressions of which no two are the same."""
    number = 0
    while True:
        with connect(port) as raw:
            for _ in range(64):
                number += 1
                body = {"prompt": "Once", "max_tokens": 100,
                        "regex": rf"([a-z ]{{1,{40 + client}}}\n?){{1,{30 + number % 30}}}[0-9]{number}*"}
                raw.post("/v1/completions", body).read()


def ask_in_short(port: int) -> None:
    """Asks as often as half_close(), for one token, and reads it."""
    path, body = completion({"prompt": "Once"})
    while True:
        with connect(port) as raw:
            raw.send_request("POST", path, body=body).read()


GRAMMARS = "expressions of their own"
Play = tuple[int, Callable[..., None], tuple[Any, ...]]
# How many connections play it, and what each does; of GRAMMARS each has its number.
ATTACKS: dict[str, Play] = {
    "a prompt of 7.9 MB that does not fit": (1, post_again_and_again, (long_prompt,)),
    "8,192 messages": (2, post_again_and_again, (many_messages,)),
    "8,192 items and truncation auto": (2, post_again_and_again, (shortened,)),
    "2.6 million token ids": (2, post_again_and_again, (integers,)),
    "500,000 fields": (2, post_again_and_again, (keys,)),
    "logit_bias of 500,000 entries": (2, post_again_and_again, (biases,)),
    "/tokenize of 7.9 MB": (2, post_again_and_again, (tokens_of_a_text,)),
    GRAMMARS: (8, bring_grammars, ()),
}
LOADS: dict[str, Play] = {
    "half-closed streams": (8, half_close, ()),
    "streams that nobody reads": (1, hold_streams, (False,)),
}
CONTROLS: dict[str, Play] = {
    "beside half-closed streams: short requests": (8, ask_in_short, ()),
    "beside streams that nobody reads: that are read": (1, hold_streams, (True,)),
}


class Honest:
    """Clients that ask for little and read all of it. The first second is not counted."""

    def __init__(self, port: int) -> None:
        self.took: list[float] = []
        self.refused = 0
        self.wrong: list[str] = []
        self.all_ended = 0.0  # requests of all clients that ended, a second
        self._go_on = True
        self._count_from = time.monotonic() + 1
        self._threads = [threading.Thread(target=self._run, args=(port,)) for _ in range(HONEST)]
        for thread in self._threads:
            thread.start()

    def _run(self, port: int) -> None:
        body = {"prompt": "Once upon a time", "max_tokens": 4, "ignore_eos": True}
        with RawClient(port) as raw:
            while self._go_on:
                began = time.monotonic()
                try:
                    status = raw.post("/v1/completions", body).read().status
                except (OSError, AssertionError, ValueError) as failure:
                    self.wrong.append(f"{type(failure).__name__}: {failure}")
                    return
                if status == 429:
                    self.refused += 1
                elif status != 200:
                    self.wrong.append(str(status))
                elif began > self._count_from:
                    self.took.append(time.monotonic() - began)
                time.sleep(PAUSE_S)

    def stop(self) -> None:
        self._go_on = False
        for thread in self._threads:
            thread.join()

    def p99(self) -> float:
        return statistics.quantiles(self.took, n=100)[98] if len(self.took) > 1 else float("inf")


def watch(server: WeftServer, seconds: float) -> Honest:
    ended = server.metric("weft_requests_finished_total")
    honest = Honest(server.port)
    time.sleep(1 + seconds)
    honest.stop()
    honest.all_ended = (server.metric("weft_requests_finished_total") - ended) / (1 + seconds)
    return honest


def play_as_stranger(attack: Callable[..., None], *arguments: Any) -> None:
    os.nice(LOWEST_PRIORITY)
    attack(*arguments)


def play(server: WeftServer, name: str, seconds: float) -> Honest:
    count, attack, arguments = {**ATTACKS, **LOADS, **CONTROLS}[name]
    context = multiprocessing.get_context("spawn")  # no threads of this process come along
    numbered = ((number,) if name == GRAMMARS else () for number in range(count))
    attackers = [context.Process(target=play_as_stranger, args=(attack, server.port, *arguments, *number), daemon=True)
                 for number in numbered]
    for attacker in attackers:
        attacker.start()
    try:
        time.sleep(1)  # until their bodies are made
        return watch(server, seconds)
    finally:
        for attacker in attackers:
            attacker.kill()
            attacker.join()


def play_all(rows: Rows, server: WeftServer, names: tuple[str, ...], where: str, options: argparse.Namespace) -> None:
    for name in (name for name in names if options.only in name):
        quiet = watch(server, options.seconds)
        before = at_rest(server) if name == GRAMMARS else 0
        beside = play(server, name, options.seconds)
        say(rows, name + where, quiet, beside, options.untimed or (not where and name not in ATTACKS))
        if name == GRAMMARS:
            say_memory(rows, name, before, at_rest(server))


def main() -> None:
    options = parse(__doc__, ("--seconds", float, 10.0, "of each attack"), ("--rounds", int, 2, "of all attacks"),
                    ("--only", str, "", "attacks and floods whose names have this text"),
                    ("--untimed", bool, False, "without bars on times"))
    rows = Rows("attackers")
    with tempfile.TemporaryDirectory() as folder:
        limited = WeftServer(Path(folder) / "limited", CONFIG | LIMITS)
        play_all(rows, limited, tuple(LOADS), ", where addresses have limits", options)
        limited.stop()
        server = WeftServer(Path(folder) / "open", CONFIG)
        rest = []
        for _ in range(options.rounds):
            play_all(rows, server, (*LOADS, *CONTROLS, *ATTACKS), "", options)
            server.wait_until_idle()
            rest.append(at_rest(server))
        if len(rest) > 1 and not server.is_sanitized():
            rows.add("memory at rest after each round", f"grows by less than {GROWTH_KIB // 1024} MiB",
                     "MiB: " + " ".join(f"{kib / 1024:.1f}" for kib in rest), rest[-1] - rest[0] < GROWTH_KIB)
        long_stalls = sum("an I/O thread was held up" in line for line in server.log_from(0))
        rows.add("I/O threads", "no step of 50 ms", f"{long_stalls} such steps, "
                 f"{server.metric('weft_io_stall_seconds_count'):.0f} of 1 ms or more",
                 long_stalls == 0 or options.untimed)
        server.stop()
    rows.exit()


def say_memory(rows: Rows, name: str, before: int, after: int) -> None:
    rows.add(f"{name}: memory at rest", f"<= {AFTER_GRAMMARS} x that before",
             f"{after / before:.2f} x: {after / 1024:.1f} of {before / 1024:.1f} MiB", after <= AFTER_GRAMMARS * before)


def say(rows: Rows, name: str, quiet: Honest, beside: Honest, untimed: bool) -> None:
    wrong = quiet.wrong + beside.wrong
    rows.add(f"{name}: honest requests", "none is refused", f"{len(beside.took)} answered, {beside.refused} refused, "
             f"{len(wrong)} went wrong {wrong[:3]}", not beside.refused and not wrong and len(beside.took) > 0)
    ratio = beside.p99() / quiet.p99()
    rows.add(f"{name}: their p99", "none" if untimed else f"<= {SLOWER} x without",
             f"{ratio:.1f} x: {beside.p99() * 1000:.0f} of {quiet.p99() * 1000:.0f} ms, while {beside.all_ended:.0f} "
             f"requests of all ended a second", ratio <= SLOWER or untimed)


if __name__ == "__main__":
    main()
