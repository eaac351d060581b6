"""What fuzzing of other servers has found."""

import socket
from pathlib import Path

import pytest

from weft_server import ROOT, WeftServer

DATA = ROOT.parent / "shared/data/http_ws_seeds"
SEEDS = sorted(path for path in DATA.glob("*/*") if path.is_file())


def send_and_close(port: int, data: bytes) -> bytes:
    """What the server says to `data`, behind which nothing comes."""
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        answer = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                answer += piece
        except (ConnectionResetError, BrokenPipeError):
            pass
        return answer


@pytest.mark.skipif(not SEEDS, reason="there is no folder ../shared/data/http_ws_seeds beside this tree")
def test_every_seed_is_answered_or_closed(server: WeftServer):
    for seed in SEEDS:
        data = seed.read_bytes()
        for end in range(len(data), 0, -max(1, len(data) // 16)):
            answer = send_and_close(server.port, data[:end])
            assert not answer or answer.startswith(b"HTTP/1."), seed
    assert server.get("/health") == {"status": "ok"}
