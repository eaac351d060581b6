"""WebSocket frames byte by byte, for what no client library would send."""

import base64
import hashlib
import os
import struct
from dataclasses import dataclass

from raw_http import RawClient

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10

MASK = b"\x37\xfa\x21\x3d"  # of RFC 6455's examples

PATH = "/v1/responses"
UPGRADE = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")


def new_key() -> str:
    return base64.b64encode(os.urandom(16)).decode()


def accept_of(key: str) -> str:
    """What a server says to `key` (RFC 6455, section 4.2.2)."""
    return base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()


def key_header(key: str | None = None) -> str:
    return "Sec-WebSocket-Key: " + (key or new_key())


def masked(payload: bytes, mask: bytes) -> bytes:
    return bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


def frame(opcode: int, payload: bytes = b"", *, final: bool = True, reserved: int = 0, mask: bytes | None = MASK,
          length: int | None = None, form: int | None = None) -> bytes:
    """A frame of a client, which may lie: about its `length`, and in how many bytes (0, 2 or 8) that is written.
    Without a `mask` it has none."""
    size = len(payload) if length is None else length
    if form is None:
        form = 0 if size < 126 else 2 if size < 65536 else 8
    short = size if form == 0 else {2: 126, 8: 127}[form]
    head = bytes([final << 7 | reserved << 4 | opcode, (mask is not None) << 7 | short])
    extended = b"" if form == 0 else struct.pack(">H" if form == 2 else ">Q", size)
    return head + extended + (payload if mask is None else mask + masked(payload, mask))


def close_frame(code: int | None = None, reason: bytes = b"") -> bytes:
    return frame(CLOSE, b"" if code is None else struct.pack(">H", code) + reason)


@dataclass
class Frame:
    """Of a server."""
    opcode: int
    payload: bytes
    final: bool
    reserved: int

    def code(self) -> int | None:
        """Of a close frame."""
        return struct.unpack(">H", self.payload[:2])[0] if self.payload else None


class RawWebSocket:
    """An open one."""

    def __init__(self, raw: RawClient, *headers: str) -> None:
        self.raw = raw
        key = new_key()
        self.answer = raw.send_request("GET", PATH, *UPGRADE, key_header(key), *headers).read_head()
        assert self.answer.status == 101, self.answer
        assert self.answer.headers["sec-websocket-accept"] == accept_of(key)

    def send(self, data: bytes) -> "RawWebSocket":
        self.raw.send(data)
        return self

    def trickle(self, data: bytes) -> "RawWebSocket":
        """Each byte in a segment of its own."""
        for byte in data:
            self.raw.send(bytes([byte]))
        return self

    def read(self) -> Frame:
        """The next frame, which is as any of a server must be: not masked, and its length in the fewest bytes."""
        first, second = self._take(2)
        size = second
        if second == 126:
            (size,) = struct.unpack(">H", self._take(2))
            assert size >= 126
        elif second == 127:
            (size,) = struct.unpack(">Q", self._take(8))
            assert 65536 <= size < 2**63
        assert second < 128, "a server must not mask"
        return Frame(first & 15, self._take(size), bool(first & 0x80), first >> 4 & 7)

    def _take(self, count: int) -> bytes:
        data = self.raw.take(count)
        assert len(data) == count, f"the server closed the connection after {data!r}"
        return data

    def is_at_end(self) -> bool:
        return self.raw.is_at_end()
