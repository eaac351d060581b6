"""WebSockets whose clients do not read, do not answer, or cancel too late. The numbers are those of docs/bad-inputs.md."""

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from conftest import StartServer
from raw_http import RawClient
from raw_websocket import PING, PONG, RawWebSocket, frame
from response_socket import ENDS, ask, create, receive, receive_response, text_of, url_of
from waiting import eventually
from weft_server import WeftServer


def dial(server: WeftServer, receive_buffer: int) -> RawWebSocket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(60)
    connection.connect(("127.0.0.1", server.port))
    return RawWebSocket(RawClient(connection))


def test_w1_a_client_that_reads_nothing_is_cut_off(start_server: StartServer):
    server = start_server(limits={"max_unread_bytes": 4096, "write_timeout_s": 1})
    ws = dial(server, 1)
    for stream_id in range(16):
        ws.send(frame(1, create(stream_id=str(stream_id), ignore_eos=True, max_output_tokens=900, top_logprobs=20,
                                temperature=1).encode()))
    server.wait_for_log("WS /v1/responses 499.*client_too_slow")
    server.wait_until_idle()
    assert server.metric("weft_slow_readers_total") == 1  # a connection, however many streams it has
    ws.raw.close()


def test_w1_a_client_that_only_pings_and_reads_nothing_is_cut_off(start_server: StartServer):
    server = start_server(limits={"write_timeout_s": 1, "ping_interval_s": 0.5})
    sockets = server.descriptors()
    ws = dial(server, 1)
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        while True:
            ws.send(frame(PING, b"x" * 125) * 1000)
    ws.raw.close()
    eventually(lambda: server.descriptors() <= sockets, "the connection is gone")


def test_w2_a_client_that_reads_late_misses_nothing(server: WeftServer):
    with connect(url_of(server)) as at_once, connect(url_of(server)) as late:
        late.send(create(ignore_eos=True, max_output_tokens=300))
        first = receive(late)
        server.wait_until_idle()
        events = [first, *receive_response(late)]
        whole = ask(at_once, ignore_eos=True, max_output_tokens=300)
    assert text_of(events) == text_of(whole)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_w3_a_client_that_answers_no_ping_is_gone(start_server: StartServer):
    server = start_server(limits={"ping_interval_s": 0.2})
    sockets = server.descriptors()
    with RawClient(server.port) as raw:
        ws = RawWebSocket(raw)
        assert ws.read().opcode == PING
        assert ws.is_at_end(), "the second was not waited for"
    eventually(lambda: server.descriptors() <= sockets, "the connection is gone")


def test_w3_a_client_that_answers_pings_stays(start_server: StartServer):
    server = start_server(limits={"ping_interval_s": 1})
    with RawClient(server.port) as raw:
        ws = RawWebSocket(raw)
        for _ in range(3):
            ping = ws.read()
            assert ping.opcode == PING
            ws.send(frame(PONG, ping.payload))


def test_w9_a_cancel_that_comes_after_the_end_is_an_error_and_nothing_else(server: WeftServer):
    with connect(url_of(server)) as ws:
        ended = ask(ws, max_output_tokens=2)[-1]["response"]
        for message in ({"response_id": ended["id"]}, {}):
            ws.send(json.dumps({"type": "response.cancel", **message}))
            answer = receive(ws)
            assert (answer["type"], answer["error"]["code"]) == ("error", "response_not_found")
        assert ask(ws, max_output_tokens=2)[-1]["type"] == "response.incomplete"


def test_w9_a_cancel_over_http_after_the_end_changes_nothing(server: WeftServer, raw: RawClient):
    made = raw.post("/v1/responses", {"input": "Once", "max_output_tokens": 2, "ignore_eos": True}).read().json()
    for _ in range(2):
        answer = raw.send_request("POST", f"/v1/responses/{made['id']}/cancel").read()
        assert (answer.status, answer.json()) == (200, made)


def ends_up_to(ws: ClientConnection, is_last: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Returns the ends of responses up to the last. Errors do not count: a cancel of an ended response may get one."""
    ends: list[dict[str, Any]] = []
    while not (ends and is_last(ends[-1])):
        event = receive(ws)
        if event["type"] in ENDS and event["type"] != "error":
            ends.append(event)
    return ends


def test_w9_a_response_that_is_cancelled_often_ends_once(server: WeftServer):
    with connect(url_of(server)) as ws:
        ws.send(create(ignore_eos=True, max_output_tokens=900, temperature=1))
        created = receive(ws)["response"]
        for _ in range(20):
            ws.send(json.dumps({"type": "response.cancel", "response_id": created["id"]}))
        ends = ends_up_to(ws, lambda event: event["response"]["id"] == created["id"])
        # Whatever the others have done comes before the end of this one.
        ws.send(create(stream_id="another", ignore_eos=True, max_output_tokens=8))
        ends += ends_up_to(ws, lambda event: event["stream_id"] == "another")
    assert [end["type"] for end in ends] == ["response.incomplete"] * 2
    assert ends[0]["response"]["usage"]["output_tokens"] < 900


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_w7_parts_of_characters_are_valid_text(server: WeftServer, raw: RawClient, count: int):
    lead = raw.post("/tokenize", {"prompt": "\U0001f984", "add_special_tokens": False}).read().json()["tokens"][:1]
    assert raw.post("/detokenize", {"tokens": lead}).read().json()["prompt"] == "\ufffd", "it is a part of a character"
    with connect(url_of(server)) as ws:  # which decodes strictly
        events = ask(ws, allowed_token_ids=lead, max_output_tokens=count, ignore_eos=True)
    assert set(text_of(events)) == {"\ufffd"}
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == text_of(events)
