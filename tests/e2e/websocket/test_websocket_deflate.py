"""Compression of WebSockets (permessage-deflate, RFC 7692), which is off unless it is asked for."""

import json
import os
import random
import zlib
from collections.abc import Iterator

import pytest
from websockets.sync.client import connect

from raw_http import RawClient
from raw_websocket import (CLOSE, CONTINUATION, PATH, PING, PONG, TEXT, UPGRADE, RawWebSocket, close_frame, frame, key_header)
from test_rfc6455 import expect_closed, expect_pong, message, pieces
from response_socket import ask, url_of
from weft_server import WeftServer

OFFER = "Sec-WebSocket-Extensions: permessage-deflate"
COMPRESSED = 4  # the first of the reserved bits
TAIL = b"\0\0\xff\xff"


class Deflating(RawWebSocket):
    """A WebSocket with compression, whose window in each direction lasts from message to message."""

    def __init__(self, raw: RawClient, offer: str = OFFER) -> None:
        super().__init__(raw, offer)
        self.extensions = self.answer.headers["sec-websocket-extensions"]
        self._compressor = zlib.compressobj(wbits=-15)
        self._decompressor = zlib.decompressobj(wbits=-15)

    def deflate(self, data: bytes) -> bytes:
        return (self._compressor.compress(data) + self._compressor.flush(zlib.Z_SYNC_FLUSH)).removesuffix(TAIL)

    def send_text(self, text: bytes) -> "Deflating":
        self.send(frame(TEXT, self.deflate(text), reserved=COMPRESSED))
        return self

    def read_event(self) -> dict:
        got = self.read()
        assert (got.opcode, got.final) == (TEXT, True)
        assert got.reserved in (0, COMPRESSED)
        return json.loads(self._decompressor.decompress(got.payload + TAIL) if got.reserved else got.payload)

    def expect_answer(self, tag: str = "x") -> None:
        event = self.read_event()
        assert (event["type"], event["stream_id"]) == ("error", tag)


@pytest.fixture(scope="module")
def deflating_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeftServer]:
    made = WeftServer(tmp_path_factory.mktemp("deflating"), {"server": {"compress_websocket": True}})
    yield made
    made.wait_until_idle()
    made.stop()


@pytest.fixture
def raw(deflating_server: WeftServer) -> Iterator[RawClient]:
    with RawClient(deflating_server.port) as made:
        yield made
    assert deflating_server.process.poll() is None, deflating_server.log()
    deflating_server.expect_clean_log()


@pytest.fixture
def ws(raw: RawClient) -> Deflating:
    return Deflating(raw)


def agreed(raw: RawClient, *offers: str) -> dict[str, str | None] | None:
    """Returns the parameters in the answer to these offers; None without compression."""
    lines = ["Sec-WebSocket-Extensions: " + offer for offer in offers]
    headers = raw.send_request("GET", PATH, *UPGRADE, key_header(), *lines).read_head().headers
    if "sec-websocket-extensions" not in headers:
        return None
    name, *parameters = (part.strip() for part in headers["sec-websocket-extensions"].split(";"))
    assert name == "permessage-deflate"
    return {key: value or None for key, _, value in (parameter.partition("=") for parameter in parameters)}


@pytest.mark.parametrize("offers", [
    ("permessage-deflate",), ("permessage-deflate; client_max_window_bits",), ("x-other, permessage-deflate",),
    ("x-other", "permessage-deflate"), ("PerMessage-Deflate",)], ids=str)
def test_an_offer_is_taken(raw: RawClient, offers: tuple[str, ...]):
    got = agreed(raw, *offers)
    assert got is not None and "server_max_window_bits" not in got


@pytest.mark.parametrize("parameter", ["server_no_context_takeover", "client_no_context_takeover"])
def test_a_window_that_shall_not_last_is_confirmed(raw: RawClient, parameter: str):
    assert parameter in agreed(raw, f"permessage-deflate; {parameter}")


@pytest.mark.parametrize("bits", range(9, 16))
def test_a_smaller_window_is_confirmed(raw: RawClient, bits: int):
    got = agreed(raw, f"permessage-deflate; server_max_window_bits={bits}")
    assert int(got.get("server_max_window_bits", "15")) <= bits


def test_a_window_that_is_too_small_for_zlib_is_declined(raw: RawClient):
    assert agreed(raw, "permessage-deflate; server_max_window_bits=8") is None


@pytest.mark.parametrize("offer", [
    "permessage-deflate; unknown", "permessage-deflate; server_max_window_bits=16",
    "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=09",
    "permessage-deflate; server_max_window_bits=x", "permessage-deflate; server_no_context_takeover=1",
    "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
    "permessage-deflate; client_max_window_bits=0", "x-webkit-deflate-frame", "permessage-bzip2"])
def test_an_offer_that_is_wrong_or_unknown_is_declined(raw: RawClient, offer: str):
    assert agreed(raw, offer) is None


def test_compressed_messages_are_taken_and_answered(ws: Deflating):
    for number in range(10):
        ws.send_text(message(str(number)))
        ws.expect_answer(str(number))
    ws.send(frame(TEXT, message("plain")))
    ws.expect_answer("plain")


@pytest.mark.parametrize("size", [100, 1000, 4095, 4096, 4097, 65535, 65536, 1 << 20, 8 << 20])
def test_a_message_may_be_as_long_as_the_limit_when_it_is_unpacked(ws: Deflating, size: int):
    ws.send_text(message(size=size))
    ws.expect_answer()
    ws.send_text(message("next"))
    ws.expect_answer("next")


@pytest.mark.parametrize("size", [100, 5000, 70_000, 1 << 20])
def test_what_cannot_be_compressed_is_taken(ws: Deflating, size: int):
    dice = random.Random(size)
    for _ in range(3):
        letters = "".join(dice.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/", k=size))
        ws.send_text(json.dumps({"type": "response.create", "stream_id": "x", "no_such_field": letters}).encode())
        ws.expect_answer()


def test_a_compressed_message_may_be_cut_anywhere(ws: Deflating):
    for cut in range(40):
        packed = ws.deflate(message(str(cut), size=200))
        ws.send(frame(TEXT, packed[:cut], final=False, reserved=COMPRESSED) + frame(PING, b"between")
                + frame(CONTINUATION, packed[cut:]))
        expect_pong(ws, b"between")
        ws.expect_answer(str(cut))


def test_a_compressed_message_may_come_byte_by_byte(ws: Deflating):
    packed = ws.deflate(message())
    ws.trickle(b"".join(frame(CONTINUATION if i else TEXT, packed[i:i + 1], final=i == len(packed) - 1,
                              reserved=0 if i else COMPRESSED) for i in range(len(packed))))
    ws.expect_answer()


def test_blocks_of_each_kind_are_taken(raw: RawClient):
    for level, strategy in ((0, zlib.Z_DEFAULT_STRATEGY), (9, zlib.Z_FIXED), (9, zlib.Z_HUFFMAN_ONLY), (1, zlib.Z_RLE)):
        packer = zlib.compressobj(level, wbits=-15, strategy=strategy)
        data = packer.compress(message(size=500)) + packer.flush(zlib.Z_SYNC_FLUSH)
        with RawClient(raw.socket.getpeername()[1]) as other:
            ws = Deflating(other)
            ws.send(frame(TEXT, data.removesuffix(TAIL), reserved=COMPRESSED))
            ws.expect_answer()


def test_a_last_block_ends_the_connection(ws: Deflating):
    packer = zlib.compressobj(wbits=-15)
    ws.send(frame(TEXT, packer.compress(message()) + packer.flush(zlib.Z_FINISH) + b"\0", reserved=COMPRESSED))
    assert ws.is_at_end(), "Beast cannot go on behind one"


def test_without_a_lasting_window_each_message_stands_alone(raw: RawClient):
    ws = Deflating(raw, OFFER + "; client_no_context_takeover; server_no_context_takeover")
    for number in range(3):
        ws._compressor, ws._decompressor = zlib.compressobj(wbits=-15), zlib.decompressobj(wbits=-15)
        ws.send_text(message(str(number)))
        ws.expect_answer(str(number))


@pytest.mark.parametrize("reserved", [1, 2, 3, 5, 6, 7])
def test_other_reserved_bits_close_with_1002(ws: Deflating, reserved: int):
    ws.send(frame(TEXT, ws.deflate(message()), reserved=reserved))
    expect_closed(ws, 1002)


@pytest.mark.parametrize("opcode", [CONTINUATION, PING, PONG, CLOSE])
def test_a_control_frame_or_a_continuation_that_says_it_is_compressed_closes_with_1002(ws: Deflating, opcode: int):
    if opcode == CONTINUATION:
        ws.send(frame(TEXT, ws.deflate(message())[:5], final=False, reserved=COMPRESSED))
    ws.send(frame(opcode, b"", reserved=COMPRESSED))
    expect_closed(ws, 1002)


@pytest.mark.parametrize("size", [(8 << 20) + 1, 1 << 30])
def test_w4_a_bomb_closes_with_1009(ws: Deflating, size: int):
    packer = zlib.compressobj(9, wbits=-15)
    # A full flush ends a mebibyte, so that it can be sent again and again without packing it anew.
    mebibyte = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = packer.compress(b" " * (size % (1 << 20))) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = (mebibyte * (size >> 20) + rest).removesuffix(TAIL)
    assert len(packed) < 2 << 20
    try:
        ws.send(frame(TEXT, packed, reserved=COMPRESSED, mask=bytes(4)))
    except (BrokenPipeError, ConnectionResetError):
        pass
    expect_closed(ws, 1009)


def test_text_that_is_not_utf_8_closes_with_1007_packed_too(ws: Deflating):
    ws.send_text(b'{"\xff"}')
    expect_closed(ws, 1007)


@pytest.mark.parametrize("character", ["\u00a3", "\u20ac", "\U0001f984"], ids=ascii)
def test_text_that_ends_in_a_character_closes_with_1007_packed_too(ws: Deflating, character: str):
    ws.send_text(b'"' + character.encode()[:-1])
    expect_closed(ws, 1007)


def first_byte(ws: Deflating) -> bytes:
    """Reads the first byte that the server says; nothing at the end."""
    try:
        return ws.raw.take(1)
    except ConnectionResetError:
        return b""


def test_w5_what_cannot_be_unpacked_ends_the_connection(ws: Deflating):
    ws.send(frame(TEXT, b"\7" + ws.deflate(message()), reserved=COMPRESSED))  # a block of the kind that there is not
    assert first_byte(ws) in (b"", b"\x88")


@pytest.mark.parametrize("seed", range(20))
def test_w5_what_is_damaged_ends_the_connection_or_is_answered(ws: Deflating, deflating_server: WeftServer, seed: int):
    dice = random.Random(seed)
    broken = bytearray(ws.deflate(message(size=2000)) + dice.randbytes(200))
    for _ in range(seed + 1):
        broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
    ws.send(frame(TEXT, bytes(broken), reserved=COMPRESSED))
    assert first_byte(ws) in (b"", b"\x88", b"\x81", b"\xc1"), "its end, a close, or an event, packed or not"
    assert deflating_server.get("/health") == {"status": "ok"}


def test_control_frames_are_never_compressed(ws: Deflating):
    ws.send(frame(PING, b"x" * 125))
    expect_pong(ws, b"x" * 125)
    ws.send(close_frame(1000))
    expect_closed(ws, 1000)


def test_a_client_that_offers_nothing_gets_nothing_compressed(raw: RawClient):
    ws = RawWebSocket(raw)
    assert "sec-websocket-extensions" not in ws.answer.headers
    ws.send(pieces(message(), 9))
    assert (got := ws.read()).reserved == 0 and json.loads(got.payload)["type"] == "error"
    ws.send(frame(TEXT, b"x", reserved=COMPRESSED))
    expect_closed(ws, 1002)


def test_another_implementation_understands_it(deflating_server: WeftServer):
    with connect(url_of(deflating_server), compression="deflate") as socket:
        assert socket.protocol.extensions
        for _ in range(3):
            assert ask(socket, input="Tell me a story. " * 20, max_output_tokens=20, ignore_eos=True)[-1]["type"] == \
                "response.incomplete"
        socket.send(json.dumps({"x": os.urandom(50_000).hex()}))
        assert json.loads(socket.recv())["type"] == "error"
