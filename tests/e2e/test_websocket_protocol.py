"""The WebSocket protocol itself: handshakes, frames, and how sockets are closed."""

import base64
import json
import os
import struct

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from raw_http import RawClient
from test_websocket_responses import ask, url_of
from waiting import PATIENCE_S, eventually

MESSAGE_LIMIT = 8 << 20

HANDSHAKE = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")


def key() -> str:
    return "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode()


@pytest.fixture
def opened(raw: RawClient) -> RawClient:
    assert raw.send_request("GET", "/v1/responses", *HANDSHAKE, key()).read_head().status == 101
    return raw


def frame(opcode: int, payload: bytes = b"", length: int | None = None, final: bool = True, masked: bool = True) -> bytes:
    """A frame with a mask of zeros, which may lie about its length."""
    size = len(payload) if length is None else length
    head = bytes([(0x80 if final else 0) | opcode, (0x80 if masked else 0) | (127 if size > 125 else size)])
    return head + (struct.pack(">Q", size) if size > 125 else b"") + (b"\0" * 4 if masked else b"") + payload


def expect_close(raw: RawClient, code: int) -> None:
    """A close frame with `code`, and then the end."""
    first, size = raw._input.read(2)
    payload = raw._input.read(size)
    assert first == 0x88
    assert struct.unpack(">H", payload[:2])[0] == code
    raw.send(frame(8, payload[:2]))
    assert raw.is_at_end()


def test_a_binary_message_closes_with_1003(server):
    with connect(url_of(server)) as socket:
        socket.send(b"\x01\x02")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE_S)
    assert closed.value.rcvd.code == 1003


def test_a_message_that_announces_more_than_the_limit_closes_with_1009(opened):
    opened.send(frame(1, b"{", length=MESSAGE_LIMIT + 1))
    expect_close(opened, 1009)


def test_a_message_over_the_limit_closes_with_1009(server):
    with connect(url_of(server), max_size=None) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            socket.send("x" * (MESSAGE_LIMIT + 1))
            socket.recv(timeout=PATIENCE_S)
    assert closed.value.rcvd.code == 1009


def test_fragments_that_are_more_than_the_limit_together_close_with_1009(opened):
    piece = b"x" * (1 << 20)
    opened.send(frame(1, piece, final=False))
    for _ in range(7):
        opened.send(frame(0, piece, final=False))
    opened.send(frame(0, b"x", final=False))
    expect_close(opened, 1009)


@pytest.mark.parametrize("bad", [
    frame(1, b"{}", masked=False),  # a client must mask
    frame(3, b"x"), frame(11, b"x"),  # opcodes that there are not
    frame(0, b"x"),  # goes on with nothing
    frame(1, b"x", final=False) + frame(1, b"y"),  # begins again in the middle
    frame(9, b"x" * 126), frame(9, b"x", final=False),  # a ping that is long, or in pieces
    bytes([0xF1, 0x80]) + b"\0" * 4,  # reserved bits
    frame(8, b"\x03"), frame(8, struct.pack(">H", 999)),  # a close that says half a number, or a wrong one
    frame(1, b"", length=2**63),
])
def test_a_broken_frame_closes_with_1002(opened, bad: bytes):
    opened.send(bad)
    first, size = opened._input.read(2)
    payload = opened._input.read(size)
    assert (first, struct.unpack(">H", payload[:2])[0]) in ((0x88, 1002), (0x88, 1009))


def test_a_text_that_is_not_utf_8_closes_with_1007(opened):
    opened.send(frame(1, b'{"type":"\xff"}'))
    first, size = opened._input.read(2)
    payload = opened._input.read(size)
    assert (first, struct.unpack(">H", payload[:2])[0]) == (0x88, 1007)


def test_a_ping_is_answered_in_the_middle_of_a_message(opened):
    opened.send(frame(1, b'{"type":', final=False) + frame(9, b"hello") + frame(0, b'"none"}'))
    assert opened._input.read(7) == b"\x8a\x05hello"


def test_a_client_that_closes_without_reading_on_is_not_worked_for(server, opened):
    before = server.log().count("error=client_gone")
    create = {"type": "response.create", "input": "Once", "ignore_eos": True, "max_output_tokens": 900}
    for lane in range(8):
        text = json.dumps({**create, "stream_id": str(lane)}).encode()
        opened.send(frame(1, text))
    eventually(lambda: len(server.running()) == 8, "all lanes run")
    opened.send(frame(8, struct.pack(">H", 1000)))
    eventually(lambda: server.log().count("error=client_gone") == before + 8, "they have ended because the client has gone")


def test_a_close_is_answered_with_its_own_code(server):
    with connect(url_of(server)) as socket:
        ask(socket, max_output_tokens=1)
        socket.close(4000, "enough")
    assert socket.close_code == 4000


@pytest.mark.parametrize("headers, status", [
    (("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"), 400),  # no key
    (("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 12", key()), 426),
    (("Connection: Upgrade", "Upgrade: h2c", "Sec-WebSocket-Version: 13", key()), 426),
    (("Upgrade: websocket", "Sec-WebSocket-Version: 13", key()), 426),
])
def test_a_handshake_that_is_none_is_refused(raw: RawClient, headers: tuple[str, ...], status: int):
    assert raw.send_request("GET", "/v1/responses", *headers).read().status == status


def test_the_handshake_carries_the_request_id(raw: RawClient):
    answer = raw.send_request("GET", "/v1/responses", *HANDSHAKE, key(), "X-Request-Id: mine").read_head()
    assert (answer.status, answer.headers["x-request-id"]) == (101, "mine")


def test_other_paths_are_no_websockets(raw: RawClient):
    assert raw.send_request("GET", "/v1/models", *HANDSHAKE, key()).read().status == 200
    assert raw.send_request("GET", "/v1/chat/completions", *HANDSHAKE, key()).read().status == 405
