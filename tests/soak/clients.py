"""Clients that behave badly, and some that do not. Each is a function that is called again and again."""

import contextlib
import json
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import killed_client
from raw_http import RawClient
from raw_websocket import CLOSE, PING, PONG, ENDS, TEXT, RawWebSocket, frame

REFUSED = (429, 503)
LONGEST_LIFE_S = 1.5


class Wrong(Exception):
    """An answer that is not what the API promises."""


class Ended(Exception):
    """The connection of a client that reads ended before it had its answer. `port` is the client's."""

    def __init__(self, what: str, port: int) -> None:
        super().__init__(what)
        self.port = port


@contextlib.contextmanager
def reader(port: int, what: str) -> Iterator[RawClient]:
    """A connection of which all is read that comes."""
    with RawClient(port) as raw:
        own = raw.socket.getsockname()[1]
        try:
            yield raw
        except (ConnectionError, TimeoutError, AssertionError, ValueError) as failure:
            raise Ended(f"{what}: {type(failure).__name__}: {failure}", own) from failure


def is_whole(text: str, choices: int) -> bool:
    """Whether a stream of completions has exactly one end of each choice, and of itself, and nothing behind it."""
    events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    if not events or events[-1] != "[DONE]" or events.count("[DONE]") != 1:
        return False
    ended = [choice["index"] for event in events[:-1] for choice in json.loads(event).get("choices", [])
             if choice.get("finish_reason")]
    return sorted(ended) == list(range(choices))


def stay(port: int, dice: random.Random) -> str:
    """Reads a stream to its end."""
    choices = dice.randint(1, 3)
    body = {"prompt": "Once", "stream": True, "max_tokens": dice.choice([1, 20, 100]), "n": choices,
            "ignore_eos": True, "seed": dice.randrange(1000)}
    with reader(port, "stay") as raw:
        answer = raw.post("/v1/completions", body).read()
    if answer.status in REFUSED:
        return "refused"
    if answer.status != 200 or not is_whole(answer.body.decode(), choices):
        raise Wrong(f"stay: {answer.status} {answer.body[-300:]!r}")
    return "answered"


def cancel(port: int, dice: random.Random) -> str:
    """Begins three responses on a WebSocket and cancels them; each must end once."""
    with reader(port, "cancel") as raw:
        web = RawWebSocket(raw)
        for name in "abc":
            web.send(frame(TEXT, json.dumps({"type": "response.create", "stream_id": name, "input": "Tell me a story.",
                                             "max_output_tokens": 500, "ignore_eos": True}).encode()))
        time.sleep(dice.uniform(0, 0.5))
        for name in "abc":
            web.send(frame(TEXT, json.dumps({"type": "response.cancel", "stream_id": name}).encode()))
        ends = {name: 0 for name in "abc"}
        while not all(ends.values()):
            got = web.read()
            if got.opcode == PING:
                web.send(frame(PONG, got.payload))
            elif got.opcode == CLOSE:
                raise Wrong(f"cancel: closed with {got.code()}: {got.payload[2:]!r}")
            elif got.opcode == TEXT:
                event = json.loads(got.payload)
                # A cancel that finds nothing to cancel is told so; that is no end of a response.
                if event.get("error", {}).get("code") == "response_not_found":
                    continue
                if event["type"] in ENDS:
                    ends[event["stream_id"]] += 1
        if any(count != 1 for count in ends.values()):
            raise Wrong(f"cancel: ends {ends}")
        web.send(frame(CLOSE, struct.pack(">H", 1000)))
    return "cancelled"


def reset(port: int, dice: random.Random) -> str:
    """Resets its connection in the middle of a stream."""
    with RawClient(port) as raw:
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.post("/v1/completions", {"prompt": ["Once", "Twice"], "stream": True, "max_tokens": 800,
                                     "ignore_eos": True})
        if raw.read_head().status == 200:
            raw.take(dice.randrange(2000))
    return "reset"


def slow(port: int, dice: random.Random) -> str:
    """Takes a long stream some bytes at a time, until it is cut off or has had enough."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect(("127.0.0.1", port))
        raw = RawClient(connection)
        raw.post("/v1/completions", {"prompt": "Once", "stream": True, "max_tokens": 900, "n": 16,
                                     "ignore_eos": True})
        end = time.monotonic() + dice.uniform(1, 8)
        got = connection.recv(64)
        if any(f" {status} ".encode() in got for status in REFUSED):
            return "refused"
        while got and time.monotonic() < end:
            time.sleep(0.05)
            got = connection.recv(64)
    return "read slowly" if got else "cut off"


def kill(port: int, dice: random.Random) -> str:
    """A process that is killed at a random moment."""
    arguments = [str(port), dice.choice(killed_client.KINDS), str(dice.randrange(2**32))]
    client = subprocess.Popen([sys.executable, "-S", str(Path(killed_client.__file__)), *arguments],
                              stderr=subprocess.DEVNULL)
    time.sleep(dice.uniform(0, LONGEST_LIFE_S))  # the random moment
    client.send_signal(signal.SIGKILL)
    client.wait()
    return "killed"


def linger(port: int, dice: random.Random) -> str:
    """Asks for nothing, or for half of something."""
    with RawClient(port) as raw:
        if dice.random() < 0.5:
            raw.send("POST /v1/completions HTTP/1.1\r\nHost: weft\r\nContent-Length: 1000\r\n\r\n{")
        select.select([raw.socket], [], [], dice.uniform(0, 2))
    return "lingered"


CLIENTS: tuple[Callable[[int, random.Random], str], ...] = (stay, stay, cancel, reset, slow, kill, linger)


def call(port: int, dice: random.Random) -> str:
    """Lets one client of a random kind do what it does, and says what came of it. A connection that the server ends
    is what bad clients get; of one that reads it is Ended, and an answer that is no whole one is Wrong."""
    client = dice.choice(CLIENTS)
    try:
        return client(port, dice)
    except (ConnectionError, TimeoutError):
        if client in (stay, cancel):
            raise Wrong(f"{client.__name__}: no connection") from None
        return "cut off"
