"""Requests and frames as fuzzers find them: our own, and what fuzzing of other servers has found."""

import socket
from pathlib import Path

import pytest

from raw_http import RawClient
from raw_websocket import RawWebSocket
from waiting import PATIENCE_S
from weft_server import ROOT, WeftServer


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_file())


OWN = Path(__file__).with_name("data") / "http_ws_seeds"
REQUESTS, FRAMES = files(OWN / "http_request"), files(OWN / "websocket_frames")
OTHERS = sorted(path for path in (ROOT.parent / "shared/data/http_ws_seeds").glob("*/*") if path.is_file())

# The first byte of a server's frame: a text, a close, a pong.
FIRST_OF_FRAMES = b"\x81\x88\x8a"


def beginnings(seed: Path) -> list[bytes]:
    data = seed.read_bytes()
    return [data[:end] for end in range(len(data), 0, -max(1, len(data) // 16))]


def send_and_close(connection: socket.socket, data: bytes) -> bytes:
    """Returns what the server says to `data`, after which nothing comes."""
    answer = b""
    try:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(65536):
            answer += piece
    except (ConnectionResetError, BrokenPipeError):
        pass
    return answer


def expect_answered_or_closed(server: WeftServer, seed: Path) -> None:
    for data in beginnings(seed):
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as connection:
            answer = send_and_close(connection, data)
        assert not answer or answer.startswith(b"HTTP/1."), seed
    assert server.get("/health") == {"status": "ok"}


@pytest.mark.parametrize("seed", REQUESTS, ids=lambda seed: seed.name)
def test_every_seed_of_our_own_is_answered_or_closed(server: WeftServer, seed: Path):
    expect_answered_or_closed(server, seed)


@pytest.mark.skipif(not OTHERS, reason="there is no folder ../shared/data/http_ws_seeds beside this tree")
def test_every_seed_of_others_is_answered_or_closed(server: WeftServer):
    for seed in OTHERS:
        expect_answered_or_closed(server, seed)


@pytest.mark.parametrize("seed", FRAMES, ids=lambda seed: seed.name)
def test_frames_are_answered_or_the_connection_is_closed(server: WeftServer, seed: Path):
    for data in beginnings(seed):
        with RawClient(server.port) as raw:
            RawWebSocket(raw)
            answer = send_and_close(raw.socket, data)
        assert not answer or answer[0] in FIRST_OF_FRAMES, answer
    assert server.get("/health") == {"status": "ok"}
