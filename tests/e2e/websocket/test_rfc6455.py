"""The WebSocket protocol, RFC 6455: what it asks of a server, one test for each. docs/websocket-compliance.md is the list."""

import json
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from raw_http import Answer, RawClient
from raw_websocket import (BINARY, CLOSE, CONTINUATION, PATH, PING, PONG, TEXT, UPGRADE, RawWebSocket, accept_of,
                           close_frame, frame, key_header, new_key)
from waiting import eventually
from weft_server import WeftServer

MESSAGE_LIMIT = 8 << 20

SAMPLES = ["$", "\u00a3", "\u20ac", "\U0001f984", "\u03ba\u1f79\u03c3\u03bc\u03b5", "\ud7ff\ue000\ufffd\ufffe\uffff",
           "\x7f\x80\u07ff\u0800\U00010000\U0010ffff"]

# Each text is invalid at its last byte at the latest.
BROKEN = {"a continuation alone": b"\x80", "another": b"\xbf", "a two-byte character cut off": b"\xc3(",
          "a three-byte character cut off": b"\xe2\x82(", "a four-byte character cut off": b"\xf0\x9f\xa6(",
          "a slash in two bytes": b"\xc0\xaf", "a delete in two bytes": b"\xc1\xbf", "a slash in three": b"\xe0\x80\xaf",
          "U+07FF in three": b"\xe0\x9f\xbf", "a slash in four": b"\xf0\x80\x80\xaf", "U+FFFF in four": b"\xf0\x8f\xbf\xbf",
          "a slash in five": b"\xf8\x80\x80\x80\xaf", "a slash in six": b"\xfc\x80\x80\x80\x80\xaf",
          "the first surrogate": b"\xed\xa0\x80", "the last": b"\xed\xbf\xbf", "a pair": b"\xed\xa0\xbd\xed\xb8\x80",
          "U+110000": b"\xf4\x90\x80\x80", "beyond": b"\xf5\x80\x80\x80", "FE": b"\xfe", "FF": b"\xff"}

Deliver = Callable[[RawWebSocket, bytes], object]


@pytest.fixture
def ws(raw: RawClient) -> RawWebSocket:
    return RawWebSocket(raw)


@pytest.fixture(params=["in one segment", "byte by byte"])
def deliver(request: pytest.FixtureRequest) -> Iterator[Deliver]:
    return RawWebSocket.send if request.param == "in one segment" else RawWebSocket.trickle


def message(tag: str | bytes = "x", size: int = 0) -> bytes:
    """Returns a text that is answered with an error which has `tag` in it."""
    text = b'{"type":"response.create","stream_id":"' + (tag if isinstance(tag, bytes) else tag.encode()) + b'"'
    return text + b" " * (size - len(text) - 1) + b"}"


def expect_answer(ws: RawWebSocket, tag: str = "x") -> None:
    got = ws.read()
    assert (got.opcode, got.final, got.reserved) == (TEXT, True, 0)
    event = json.loads(got.payload)
    assert (event["type"], event["stream_id"]) == ("error", tag)


def expect_pong(ws: RawWebSocket, payload: bytes) -> None:
    got = ws.read()
    assert (got.opcode, got.payload, got.final, got.reserved) == (PONG, payload, True, 0)


def expect_open(ws: RawWebSocket) -> None:
    """Expects that the server has said nothing more, and that the connection goes on."""
    ws.send(frame(PING, b"still there?"))
    expect_pong(ws, b"still there?")
    ws.send(frame(TEXT, message("and well")))
    expect_answer(ws, "and well")


def expect_closed(ws: RawWebSocket, code: int) -> None:
    """Expects a close with `code`, and that the connection ends without waiting for the client."""
    got = ws.read()
    while got.opcode == PING:  # the server asks whether the client is there, where the machine is slow
        got = ws.read()
    assert (got.opcode, got.final, got.reserved) == (CLOSE, True, 0)
    assert got.code() == code
    assert ws.is_at_end()


def pieces(text: bytes, *cuts: int) -> bytes:
    """Returns a message in fragments, cut at these offsets."""
    parts = [text[begin:end] for begin, end in pairwise((0, *cuts, len(text)))]
    return b"".join(frame(CONTINUATION if i else TEXT, part, final=i == len(parts) - 1) for i, part in enumerate(parts))


# The opening handshake.

def shake(raw: RawClient, *headers: str) -> Answer:
    return raw.send_request("GET", PATH, *headers).read_head()


def test_the_handshake_is_answered_with_101_and_the_accept_value_of_the_key(raw: RawClient):
    answer = shake(raw, *UPGRADE, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    assert (answer.version, answer.status) == ("HTTP/1.1", 101)
    assert answer.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert answer.headers["upgrade"].lower() == "websocket"
    assert answer.headers["connection"].lower() == "upgrade"
    assert "content-length" not in answer.headers and "transfer-encoding" not in answer.headers


@pytest.mark.parametrize("headers", [
    ("Connection: upgrade", "Upgrade: WebSocket", "Sec-WebSocket-Version: 13"),
    ("CONNECTION: UPGRADE", "UPGRADE: WEBSOCKET", "SEC-WEBSOCKET-VERSION: 13"),
    ("Connection: keep-alive, Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
    ("Connection: keep-alive", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
    ("Connection:Upgrade,keep-alive", "Upgrade: h2c, websocket", "Sec-WebSocket-Version:  13 "),
    ("Sec-WebSocket-Version: 13", "Upgrade: h2c", "Upgrade: websocket", "Connection: Upgrade"),
], ids=["in small letters", "in capitals", "in a list", "in two lines", "in lists without spaces", "in another order"])
def test_the_tokens_of_the_handshake_may_come_in_any_case_and_in_lists(raw: RawClient, headers: tuple[str, ...]):
    key = new_key()
    answer = shake(raw, *headers, key_header(key))
    assert (answer.status, answer.headers["sec-websocket-accept"]) == (101, accept_of(key))


@pytest.mark.parametrize("target", [PATH + "?x=1", "/v1/%72esponses", "http://weft" + PATH])
def test_the_target_may_be_a_path_with_a_query_or_a_whole_url(raw: RawClient, target: str):
    assert raw.send_request("GET", target, *UPGRADE, key_header()).read_head().status == 101


@pytest.mark.parametrize("key", ["", "x", "AQIDBAUGBwgJCgsMDQ4P", "AQIDBAUGBwgJCgsMDQ4PEBE=", "AQIDBAUGBwgJCgsMDQ4PEA",
                                 "AQIDBAUGBwgJCgsMDQ4P??==", "x" * 24, "x" * 1000],
                         ids=["none", "one letter", "15 bytes", "17 bytes", "no padding", "no base64", "18 bytes", "long"])
def test_a_key_that_is_not_16_bytes_in_base64_is_refused(raw: RawClient, key: str):
    answer = raw.send_request("GET", PATH, *UPGRADE, "Sec-WebSocket-Key: " + key).read()
    assert (answer.status, answer.error()["code"]) == (400, "bad_request")


@pytest.mark.parametrize("headers", [UPGRADE, (*UPGRADE, key_header(), key_header())], ids=["no key", "two"])
def test_there_must_be_one_key(raw: RawClient, headers: tuple[str, ...]):
    assert raw.send_request("GET", PATH, *headers).read().status == 400


@pytest.mark.parametrize("versions", [("12",), ("8",), ("0",), ("",), ("013",), ("13, 8",), ("13", "13"), ()], ids=str)
def test_another_version_is_refused_with_the_one_that_is_spoken(raw: RawClient, versions: tuple[str, ...]):
    lines = [f"Sec-WebSocket-Version: {version}" for version in versions]
    answer = raw.send_request("GET", PATH, *UPGRADE[:2], *lines, key_header()).read()
    assert (answer.status, answer.error()["code"]) == (426, "upgrade_required")
    assert (answer.headers["sec-websocket-version"], answer.headers["upgrade"]) == ("13", "websocket")


@pytest.mark.parametrize("headers", [
    (), ("Connection: Upgrade",), ("Upgrade: websocket",), ("Connection: close", "Upgrade: websocket"),
    ("Connection: Upgrade", "Upgrade: h2c"), ("Connection: Upgrade", "Upgrade: websockets"),
    ("Connection: xUpgrade", "Upgrade: websocket"), ("Connection: Upgrade", "Upgrade:")])
def test_without_the_tokens_it_is_no_handshake(raw: RawClient, headers: tuple[str, ...]):
    answer = raw.send_request("GET", PATH, *headers, "Sec-WebSocket-Version: 13", key_header()).read()
    assert (answer.status, answer.headers["upgrade"]) == (426, "websocket")


@pytest.mark.parametrize("line, status", [(f"POST {PATH} HTTP/1.1", 400), (f"HEAD {PATH} HTTP/1.1", 426),
                                          (f"PUT {PATH} HTTP/1.1", 405), (f"GET {PATH} HTTP/1.0", 426)])
def test_the_handshake_is_a_get_of_http_1_1(raw: RawClient, line: str, status: int):
    raw.send("\r\n".join([line, "Host: weft", *UPGRADE, key_header(), "Content-Length: 0", "", ""]))
    assert raw.read(head="HEAD" in line).status == status


@pytest.mark.parametrize("hosts", [(), ("Host: a", "Host: b")], ids=["none", "two"])
def test_the_handshake_has_a_host(raw: RawClient, hosts: tuple[str, ...]):
    raw.send("\r\n".join([f"GET {PATH} HTTP/1.1", *hosts, *UPGRADE, key_header(), "", ""]))
    assert raw.read().status == 400


@pytest.mark.parametrize("protocols", ["chat", "chat, superchat", "weft-keys"])
def test_a_subprotocol_that_is_not_spoken_is_not_in_the_answer(raw: RawClient, protocols: str):
    answer = shake(raw, *UPGRADE, key_header(), "Sec-WebSocket-Protocol: " + protocols)
    assert answer.status == 101 and "sec-websocket-protocol" not in answer.headers


@pytest.mark.parametrize("extensions", ["permessage-deflate", "permessage-deflate; client_max_window_bits, x-other",
                                        "x-webkit-deflate-frame", "mux; max-channels=4; flow-control"])
def test_an_extension_that_is_not_spoken_is_not_in_the_answer(raw: RawClient, extensions: str):
    answer = shake(raw, *UPGRADE, key_header(), "Sec-WebSocket-Extensions: " + extensions)
    assert answer.status == 101 and "sec-websocket-extensions" not in answer.headers


def test_nothing_is_in_the_answer_that_was_not_asked_for(raw: RawClient):
    answer = shake(raw, *UPGRADE, key_header())
    assert not {"sec-websocket-protocol", "sec-websocket-extensions"} & answer.headers.keys()


def test_frames_before_the_answer_are_refused(raw: RawClient):
    head = "\r\n".join([f"GET {PATH} HTTP/1.1", "Host: weft", *UPGRADE, key_header(), "", ""])
    assert raw.send(head.encode() + frame(TEXT, message())).read().status == 400


# Frames.

def test_a_message_in_a_frame_is_taken(ws: RawWebSocket, deliver: Deliver):
    deliver(ws, frame(TEXT, message("one")) + frame(TEXT, message("two")))
    expect_answer(ws, "one")
    expect_answer(ws, "two")
    expect_open(ws)


@pytest.mark.parametrize("size", [0, 125, 126, 127, 128, 4096, 65535, 65536, 65537, 1 << 20, MESSAGE_LIMIT])
def test_a_message_may_be_as_long_as_the_limit(ws: RawWebSocket, size: int):
    ws.send(frame(TEXT, message(size=size), mask=bytes(4)))
    expect_answer(ws)
    expect_open(ws)


@pytest.mark.parametrize("size", [0, 1, 60, 125, 126, 200, 65535])
def test_a_length_that_is_not_in_the_fewest_bytes_closes_with_1002(ws: RawWebSocket, size: int, deliver: Deliver):
    head = frame(TEXT, b"", length=size, form=2 if size < 126 else 8)
    deliver(ws, head)  # what follows is not waited for
    expect_closed(ws, 1002)


@pytest.mark.parametrize("size", [0, 60, 125])
def test_a_short_length_in_eight_bytes_closes_with_1002(ws: RawWebSocket, size: int):
    ws.send(frame(TEXT, b" " * size, form=8))
    expect_closed(ws, 1002)


@pytest.mark.parametrize("size", [2**63, 2**64 - 1])
def test_a_length_with_its_top_bit_set_closes(ws: RawWebSocket, size: int):
    ws.send(frame(TEXT, b"", length=size))
    expect_closed(ws, 1009)


@pytest.mark.parametrize("size", [MESSAGE_LIMIT + 1, 2**32, 2**63 - 1])
def test_a_message_that_announces_more_than_the_limit_closes_with_1009(ws: RawWebSocket, size: int):
    ws.send(frame(TEXT, b"{", length=size))
    expect_closed(ws, 1009)


def test_fragments_that_are_more_than_the_limit_together_close_with_1009(ws: RawWebSocket):
    piece = b" " * (1 << 20)
    ws.send(frame(TEXT, piece, final=False, mask=bytes(4)))
    for _ in range(7):
        ws.send(frame(CONTINUATION, piece, final=False, mask=bytes(4)))
    ws.send(frame(CONTINUATION, b" ", final=False))
    expect_closed(ws, 1009)


@pytest.mark.parametrize("reserved", range(1, 8))
@pytest.mark.parametrize("opcode", [TEXT, CLOSE, PING, PONG, CONTINUATION])
def test_a_reserved_bit_closes_with_1002(ws: RawWebSocket, opcode: int, reserved: int):
    if opcode == CONTINUATION:
        ws.send(frame(TEXT, b" ", final=False))
    ws.send(frame(opcode, b"" if opcode == CLOSE else b" ", reserved=reserved))
    expect_closed(ws, 1002)


@pytest.mark.parametrize("opcode", [3, 4, 5, 6, 7, 11, 12, 13, 14, 15])
def test_a_reserved_opcode_closes_with_1002(ws: RawWebSocket, opcode: int, deliver: Deliver):
    deliver(ws, frame(TEXT, message()) + frame(opcode, b"x") + frame(PING))
    expect_answer(ws)
    expect_closed(ws, 1002)


@pytest.mark.parametrize("opcode, payload", [(TEXT, message()), (TEXT, b""), (BINARY, b"x"), (PING, b"x"), (PONG, b""),
                                             (CLOSE, b"")])
def test_a_frame_without_a_mask_closes_with_1002(ws: RawWebSocket, opcode: int, payload: bytes):
    ws.send(frame(opcode, payload, mask=None))
    expect_closed(ws, 1002)


@pytest.mark.parametrize("mask", ["00000000", "ffffffff", "00000001", "80000000", "01020408", "deadbeef"])
def test_any_mask_is_taken_off_at_any_length(ws: RawWebSocket, mask: str, deliver: Deliver):
    sizes = range(len(message()), len(message()) + 20)
    deliver(ws, b"".join(frame(TEXT, message(size=size), mask=bytes.fromhex(mask)) for size in sizes))
    for _ in sizes:
        expect_answer(ws)
    expect_open(ws)


def test_each_frame_has_a_mask_of_its_own(ws: RawWebSocket, deliver: Deliver):
    text = message()
    deliver(ws, frame(TEXT, text[:5], final=False, mask=b"\1\2\3\4") + frame(PING, b"ping", mask=b"\xff\0\xff\0")
            + frame(CONTINUATION, text[5:], mask=b"\5\6\7\x08"))
    expect_pong(ws, b"ping")
    expect_answer(ws)


def test_what_the_server_sends_is_unmasked_and_its_lengths_are_in_the_fewest_bytes(ws: RawWebSocket):
    for size in (10, 500, 70_000):
        # A response repeats its schema, and no prompt has it.
        schema = {"type": "json_schema", "name": "x", "schema": {"type": "string", "description": "x" * size}}
        ws.send(frame(TEXT, json.dumps({"type": "response.create", "generate": False, "input": "x", "store": False,
                                        "text": {"format": schema}}).encode()))
        events = [ws.read() for _ in range(3)]  # which looks at both
        assert all(event.opcode == TEXT and len(event.payload) > size for event in events)
    ws.send(frame(PING))
    expect_pong(ws, b"")


# Fragments.

@pytest.mark.parametrize("tag", SAMPLES, ids=ascii)
def test_a_message_may_be_cut_into_fragments_anywhere(ws: RawWebSocket, tag: str):
    text = message(tag)
    for cut in range(len(text) + 1):
        ws.send(pieces(text, cut) + pieces(text, cut // 2, cut))
        expect_answer(ws, tag)
        expect_answer(ws, tag)
    expect_open(ws)


@pytest.mark.parametrize("tag", SAMPLES, ids=ascii)
def test_a_message_may_come_in_fragments_of_one_byte_and_of_none(ws: RawWebSocket, tag: str, deliver: Deliver):
    text = message(tag)
    deliver(ws, pieces(text, *range(1, len(text))))
    expect_answer(ws, tag)
    deliver(ws, pieces(text, *(cut // 2 for cut in range(2 * len(text) + 1))))
    expect_answer(ws, tag)
    expect_open(ws)


def test_control_frames_may_stand_between_fragments(ws: RawWebSocket, deliver: Deliver):
    text = message()
    deliver(ws, frame(TEXT, text[:9], final=False) + frame(PING, b"1") + frame(PONG, b"unasked")
            + frame(CONTINUATION, text[9:20], final=False) + frame(PING, b"2") + frame(PING, b"3")
            + frame(CONTINUATION, text[20:]))
    for payload in (b"1", b"2", b"3"):
        expect_pong(ws, payload)
    expect_answer(ws)
    expect_open(ws)


def test_a_ping_in_the_middle_of_a_message_does_not_wait_for_its_end(ws: RawWebSocket):
    ws.send(frame(TEXT, message()[:9], final=False) + frame(PING, b"now"))
    expect_pong(ws, b"now")
    ws.send(frame(CONTINUATION, message()[9:]))
    expect_answer(ws)


@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("before", [b"", frame(TEXT, message()), pieces(message(), 9), frame(PING)],
                         ids=["the first frame", "after a message", "after fragments", "after a ping"])
def test_a_continuation_of_nothing_closes_with_1002(ws: RawWebSocket, before: bytes, final: bool, deliver: Deliver):
    deliver(ws, before + frame(CONTINUATION, b" ", final=final) + frame(TEXT, message()))
    if before:
        (expect_pong(ws, b"") if before == frame(PING) else expect_answer(ws))
    expect_closed(ws, 1002)


@pytest.mark.parametrize("opcode", [TEXT, BINARY])
@pytest.mark.parametrize("final", [True, False])
def test_a_message_in_the_middle_of_another_closes_with_1002(ws: RawWebSocket, opcode: int, final: bool,
                                                              deliver: Deliver):
    deliver(ws, frame(TEXT, message()[:9], final=False) + frame(opcode, message(), final=final))
    expect_closed(ws, 1002)


# Control frames.

@pytest.mark.parametrize("opcode", [CLOSE, PING, PONG])
@pytest.mark.parametrize("bad", [{"final": False}, {"payload": b"\x03\xe8" + b"x" * 124}, {"length": 126},
                                 {"length": 2**16}], ids=["in fragments", "126 bytes", "it says 126", "it says 65536"])
def test_a_control_frame_that_is_long_or_in_fragments_closes_with_1002(ws: RawWebSocket, opcode: int, bad: dict):
    ws.send(frame(opcode, **bad))
    expect_closed(ws, 1002)


@pytest.mark.parametrize("payload", [b"", b"Hello", bytes(range(125)), b"\xfe\xff\0\xc3", b"x" * 125],
                         ids=["nothing", "a text", "all bytes", "no UTF-8", "125 bytes"])
def test_a_ping_is_answered_with_its_own_payload(ws: RawWebSocket, payload: bytes, deliver: Deliver):
    deliver(ws, frame(PING, payload))
    expect_pong(ws, payload)
    expect_open(ws)


def test_many_pings_are_answered_in_their_order(ws: RawWebSocket):
    ws.send(b"".join(frame(PING, b"%d" % number) for number in range(1000)))
    for number in range(1000):
        expect_pong(ws, b"%d" % number)


def test_a_pong_that_nobody_asked_for_is_ignored(ws: RawWebSocket, deliver: Deliver):
    deliver(ws, frame(PONG) + frame(PONG, b"x" * 125) + frame(PONG, b"\xff"))
    expect_open(ws)


# Text.

@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_text_that_is_not_utf_8_closes_with_1007(ws: RawWebSocket, broken: bytes, deliver: Deliver):
    deliver(ws, frame(TEXT, message(b"a" + broken + b"z")))
    expect_closed(ws, 1007)


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_fragments_are_not_utf_8_either_wherever_they_are_cut(server: WeftServer, broken: bytes):
    text = message(b"a" + broken + b"z")
    begin = text.index(broken)
    for cut in range(begin, begin + len(broken) + 1):
        with RawClient(server.port) as raw:
            ws = RawWebSocket(raw).send(pieces(text, cut))
            expect_closed(ws, 1007)


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_cannot_become_utf_8_any_more_is_not_waited_for(ws: RawWebSocket, broken: bytes):
    ws.send(frame(TEXT, b'{"', final=False) + frame(CONTINUATION, broken, final=False))
    expect_closed(ws, 1007)


def test_a_frame_is_not_waited_for_when_its_first_bytes_are_not_utf_8(ws: RawWebSocket):
    ws.send(frame(TEXT, b'{"\xff', length=1000))
    expect_closed(ws, 1007)


@pytest.mark.parametrize("character", SAMPLES[1:4], ids=ascii)
@pytest.mark.parametrize("ending", ["in its last frame", "before an empty frame"])
def test_a_text_that_ends_in_a_character_closes_with_1007(server: WeftServer, character: str, ending: str):
    for size in range(1, len(character.encode())):
        text = b'"' + character.encode()[:size]
        with RawClient(server.port) as raw:
            ws = RawWebSocket(raw)
            ws.send(frame(TEXT, text) if "last" in ending else pieces(text, len(text)))
            assert ws.read().code() == 1007
            ws.send(close_frame(1007))
            assert ws.is_at_end()


def test_characters_that_are_none_are_utf_8_nevertheless(ws: RawWebSocket):
    for plane in range(17):
        for low in (0xfffe, 0xffff):
            tag = chr(plane << 16 | low)
            ws.send(frame(TEXT, message(tag)))
            expect_answer(ws, tag)


def test_a_binary_message_closes_with_1003(ws: RawWebSocket, deliver: Deliver):
    deliver(ws, frame(BINARY, b"\1\2") + frame(TEXT, message()) + frame(PING))
    assert ws.read().code() == 1003
    ws.send(close_frame(1003))
    assert ws.is_at_end()


def test_a_server_that_has_closed_does_not_wait_for_ever(ws: RawWebSocket):
    ws.send(frame(BINARY, b"\1\2"))
    assert ws.read().code() == 1003
    assert ws.is_at_end(), "though the client says nothing"


# Closing.

def test_a_close_without_a_code_is_answered(ws: RawWebSocket, deliver: Deliver):
    deliver(ws, close_frame())
    expect_closed(ws, 1000)


@pytest.mark.parametrize("code", [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 3000, 3999, 4000,
                                  4999])
def test_a_close_is_answered_with_its_code(ws: RawWebSocket, code: int):
    ws.send(close_frame(code, "w\u00e4re".encode()))
    expect_closed(ws, code)


@pytest.mark.parametrize("reason", [b"x" * 123, "\u20ac".encode() * 41], ids=["letters", "signs"])
def test_a_close_may_have_a_reason_of_123_bytes(ws: RawWebSocket, reason: bytes, deliver: Deliver):
    deliver(ws, close_frame(1000, reason))
    expect_closed(ws, 1000)


def test_a_close_of_one_byte_closes_with_1002(ws: RawWebSocket):
    ws.send(frame(CLOSE, b"\x03"))
    expect_closed(ws, 1002)


@pytest.mark.parametrize("code", [0, 1, 999, 1004, 1005, 1006, 1014, 1015, 1016, 1100, 2000, 2999])
def test_a_code_that_may_not_be_sent_closes_with_1002(ws: RawWebSocket, code: int):
    ws.send(close_frame(code))
    expect_closed(ws, 1002)


@pytest.mark.parametrize("code", [5000, 65535])
def test_a_code_without_a_meaning_is_answered_with_itself(ws: RawWebSocket, code: int):
    ws.send(close_frame(code))
    expect_closed(ws, code)


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_reason_that_is_not_utf_8_closes_with_1002(ws: RawWebSocket, broken: bytes):
    ws.send(close_frame(1000, broken))
    expect_closed(ws, 1002)


@pytest.mark.parametrize("size", [1, 2])
def test_a_reason_that_ends_in_a_character_closes_with_1002(ws: RawWebSocket, size: int):
    ws.send(close_frame(1000, "\u20ac".encode()[:size]))
    expect_closed(ws, 1002)


def test_a_close_in_the_middle_of_a_message_ends_it(ws: RawWebSocket, deliver: Deliver):
    deliver(ws, frame(TEXT, message()[:9], final=False) + close_frame(1000))
    expect_closed(ws, 1000)


@pytest.mark.parametrize("behind", [frame(TEXT, message()), frame(PING, b"x"), close_frame(1001), b"\xff" * 100,
                                    frame(TEXT, message())[:9], frame(TEXT, message(size=1 << 20))],
                         ids=["a message", "a ping", "another close", "no frame", "half a frame", "a mebibyte"])
def test_what_comes_behind_a_close_is_ignored(ws: RawWebSocket, behind: bytes):
    ws.send(close_frame(1000) + behind)
    expect_closed(ws, 1000)


def test_what_was_asked_for_before_a_close_is_given_first(ws: RawWebSocket):
    ws.send(frame(TEXT, message("before")) + frame(PING, b"too") + close_frame(1000))
    got = [ws.read() for _ in range(3)]
    assert sorted(one.opcode for one in got) == [TEXT, CLOSE, PONG]
    assert got[-1].opcode == CLOSE
    assert ws.is_at_end()


def test_the_server_ends_the_connection_first(ws: RawWebSocket, server: WeftServer):
    ws.send(close_frame(1000))
    expect_closed(ws, 1000)  # at its end, though we have not closed
    ws.raw.socket.shutdown(1)


def test_a_client_that_only_cuts_its_connection_is_gone(server: WeftServer):
    with RawClient(server.port) as raw:
        RawWebSocket(raw).send(frame(TEXT, message()[:9], final=False))
        port = raw.socket.getsockname()[1]
        assert server.is_connected_to(port)
    eventually(lambda: not server.is_connected_to(port), "the connection is gone")


def test_every_close_code_that_the_server_sends_may_be_sent(server: WeftServer):
    """Those of the tests above, once more in one place: 1000, 1002, 1003, 1007 and 1009. Beast gives no reasons."""
    for bad, code in ((close_frame(), 1000), (frame(3), 1002), (frame(BINARY), 1003), (frame(TEXT, b"\xff"), 1007),
                      (frame(TEXT, length=2**40), 1009)):
        with RawClient(server.port) as raw:
            got = RawWebSocket(raw).send(bad).read()
            assert (got.opcode, got.code()) == (CLOSE, code)
            assert (len(got.payload) > 2) == (code == 1003), got.payload


def test_a_close_of_the_servers_own_says_why(server: WeftServer):
    cut = "\u20ac".encode()[:2]
    for bad, code, reason in ((frame(BINARY, b"\1"), 1003, b"messages are JSON in text frames"),
                              (frame(TEXT, cut, final=False) + frame(CONTINUATION), 1007, b"a message is not UTF-8")):
        with RawClient(server.port) as raw:
            got = RawWebSocket(raw).send(bad).read()
            assert (got.opcode, got.payload) == (CLOSE, struct.pack(">H", code) + reason)
