"""WebSockets beside their protocol, which is test_rfc6455.py's: identity, paths, and clients that close."""

import json

import pytest
from websockets.sync.client import connect

from raw_http import RawClient
from raw_websocket import TEXT, UPGRADE, RawWebSocket, close_frame, frame, key_header
from response_socket import ask, url_of
from waiting import eventually


def test_a_client_that_closes_without_reading_on_is_not_worked_for(server, raw: RawClient):
    ws = RawWebSocket(raw)
    before = server.log().count("error=client_gone")
    create = {"type": "response.create", "input": "Once", "ignore_eos": True, "max_output_tokens": 900}
    for stream_id in range(8):
        ws.send(frame(TEXT, json.dumps({**create, "stream_id": str(stream_id)}).encode()))
    eventually(lambda: len(server.running()) == 8, "all streams run")
    ws.send(close_frame(1000))
    eventually(lambda: server.log().count("error=client_gone") == before + 8, "they have ended because the client has gone")


def test_a_close_is_answered_with_its_own_code(server):
    with connect(url_of(server)) as socket:
        ask(socket, max_output_tokens=1)
        socket.close(4000, "enough")
    assert socket.close_code == 4000


def test_the_handshake_carries_the_request_id(raw: RawClient):
    answer = RawWebSocket(raw, "X-Request-Id: mine").answer
    assert (answer.headers["x-request-id"], answer.headers["server"]) == ("mine", "weft")


@pytest.mark.parametrize("path, status", [("/v1/models", 200), ("/v1/chat/completions", 405)])
def test_other_paths_are_no_websockets(raw: RawClient, path: str, status: int):
    assert raw.send_request("GET", path, *UPGRADE, key_header()).read().status == status
