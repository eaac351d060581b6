"""A server that wants a key, and what a key may do."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import openai
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from conftest import StartServer, chat, client_of
from prompts import ENDLESS, ENDLESS_BODY
from raw_http import RawClient
from response_socket import ask, create, receive, url_of
from waiting import PATIENCE_S, eventually
from weft_server import WeftServer

KEY = "sk-the-right-one"
WATCHER = "sk-for-the-tests"


@pytest.fixture
def guarded(start_server: StartServer) -> WeftServer:
    return start_server(auth={"api_key": KEY})


@pytest.fixture
def limited(start_server: StartServer, tmp_path: Path):
    """limited(field=value): a server whose key KEY, of "somebody", has these limits, and WATCHER none."""

    def start(**limits: Any) -> WeftServer:
        file = tmp_path / "keys.toml"
        lines = [f"{name} = {json.dumps(value)}" for name, value in limits.items()]
        file.write_text("\n".join([
            "[[key]]", 'name = "watcher"', f'key = "{WATCHER}"',
            "[[key]]", 'name = "somebody"', f'sha256 = "{hashlib.sha256(KEY.encode()).hexdigest()}"', *lines, ""]))
        return start_server(key=WATCHER, auth={"api_key_file": str(file)})

    return start


def test_only_the_right_key_opens(guarded: WeftServer):
    with client_of(guarded, api_key=KEY) as client:
        chat(client)
    for wrong in ("sk-the-right-on", KEY + "e", "sk-another", KEY.upper(), "x" * 10_000):
        with client_of(guarded, api_key=wrong) as client, pytest.raises(openai.AuthenticationError) as caught:
            chat(client)
        assert caught.value.code == "invalid_api_key"
        assert KEY not in str(caught.value.body) and wrong not in str(caught.value.body)


def test_without_a_key_all_but_the_probes_is_closed(guarded: WeftServer):
    paths = {"/health": 200, "/live": 200, "/v1/models": 401, "/requests": 401, "/metrics": 401, "/version": 401,
             "/": 401}
    with RawClient(guarded.port) as raw:
        answers = {path: raw.send_request("GET", path).read() for path in paths}
    assert {path: answer.status for path, answer in answers.items()} == paths
    assert answers["/v1/models"].headers["www-authenticate"] == "Bearer"
    assert answers["/"].headers["www-authenticate"].startswith("Basic ")
    assert KEY not in guarded.log()


@pytest.mark.parametrize("header", [
    f"Authorization: Bearer {KEY}", f"authorization: bearer   {KEY}", f"X-Api-Key: {KEY}",
    "Authorization: Basic " + base64.b64encode(f"anyone:{KEY}".encode()).decode()])
def test_a_key_may_be_shown_in_several_ways(limited, header: str):
    with RawClient(limited().port) as raw:
        assert raw.send_request("GET", "/v1/models", header).read().status == 200


@pytest.mark.parametrize("header", [
    "Authorization: Bearer", "Authorization: Bearer ", f"Authorization: {KEY}", f"Authorization: Digest {KEY}",
    "Authorization: Basic " + base64.b64encode(KEY.encode()).decode(), "Authorization: Basic !", "X-Api-Key:",
    f"Cookie: key={KEY}", f"Authorization: Bearer {hashlib.sha256(KEY.encode()).hexdigest()}"])
def test_a_key_that_is_shown_otherwise_is_none(limited, header: str):
    with RawClient(limited().port) as raw:
        assert raw.send_request("GET", "/v1/models", header).read().status == 401


def test_a_websocket_wants_the_key_and_may_show_it_as_a_protocol(limited):
    server = limited()
    for wrong in ([], ["weft-key.sk-another"], ["chat"]):
        with pytest.raises(InvalidStatus) as caught:
            connect(url_of(server), subprotocols=wrong or None)
        assert caught.value.response.status_code == 401
    with connect(url_of(server), subprotocols=["chat", "weft-key." + KEY]) as socket:
        assert socket.subprotocol == "weft-key." + KEY, "a browser gives up without it"
        assert ask(socket, max_output_tokens=2)[-1]["type"] == "response.incomplete"
    with connect(url_of(server), additional_headers={"Authorization": "Bearer " + KEY}) as socket:
        assert socket.subprotocol is None
        ask(socket, max_output_tokens=2)
    assert " key=somebody " in server.wait_for_log(r"WS /v1/responses 200.*")[0]
    assert KEY not in server.log()


def test_the_log_has_the_name_of_the_key_and_not_the_key(limited):
    server = limited()
    with client_of(server, api_key=KEY) as client:
        chat(client)
    assert " key=somebody " in server.wait_for_log(r"POST /v1/chat/completions 200.*")[0]
    assert KEY not in server.log()


def test_a_key_for_batches_asks_for_nothing_more_urgent(limited):
    server = limited(**{"class": "batch"})
    with client_of(server, api_key=KEY) as somebody, client_of(server, api_key=WATCHER) as watcher:
        for tier in ("auto", "default", "priority", "flex"):
            assert chat(somebody, service_tier=tier).service_tier == "flex"
        assert chat(watcher, service_tier="priority").service_tier == "priority"
        with chat(somebody, stream=True, **ENDLESS) as stream:
            next(iter(stream))
            assert [(entry["class"], entry["client"]) for entry in server.running()] == [("batch", "somebody")]


def test_more_requests_at_once_than_a_key_may_have_are_429(limited):
    server = limited(max_concurrent=2)
    with client_of(server, api_key=KEY) as somebody, client_of(server, api_key=WATCHER) as watcher:
        with chat(somebody, stream=True, **ENDLESS) as one, chat(somebody, stream=True, **ENDLESS) as two:
            next(iter(one)), next(iter(two))
            for stream in (False, True):
                with pytest.raises(openai.RateLimitError) as caught:
                    chat(somebody, stream=stream)
                assert caught.value.code == "rate_limit_exceeded"
                assert int(caught.value.response.headers["retry-after"]) >= 1
            assert chat(watcher).usage.completion_tokens > 0, "another key's requests do not count"
        eventually(server.is_idle, "both have ended")
        assert chat(somebody).usage.completion_tokens > 0


def test_the_streams_of_a_websocket_count_as_requests_at_once(limited):
    server = limited(max_concurrent=1)
    with connect(url_of(server), additional_headers={"X-Api-Key": KEY}) as socket:
        socket.send(create(stream_id="one", ignore_eos=True, max_output_tokens=900))
        assert receive(socket)["type"] == "response.created"
        socket.send(create(stream_id="two"))
        while (event := receive(socket))["stream_id"] == "one":
            assert event["type"] != "response.completed"
        assert (event["type"], event["status"], event["error"]["code"]) == ("error", 429, "rate_limit_exceeded")
    eventually(server.is_idle, "the first is gone")
    with connect(url_of(server), additional_headers={"X-Api-Key": KEY}) as socket:
        assert ask(socket, max_output_tokens=2)[-1]["type"] == "response.incomplete"


@pytest.mark.parametrize("way", ["http", "websocket"])
def test_a_key_that_has_used_its_tokens_waits_until_they_are_paid_back(limited, way: str):
    server = limited(tokens_per_minute=4)
    with client_of(server, api_key=KEY) as somebody, client_of(server, api_key=WATCHER) as watcher:
        if way == "http":
            used = chat(somebody).usage.total_tokens
        else:
            with connect(url_of(server), additional_headers={"X-Api-Key": KEY}) as socket:
                used = ask(socket)[-1]["response"]["usage"]["total_tokens"]
                assert ask(socket)[-1]["error"]["code"] == "rate_limit_exceeded"
        with pytest.raises(openai.RateLimitError) as caught:
            chat(somebody)
        assert caught.value.code == "rate_limit_exceeded"
        # 4 tokens were there, and 4 come back each minute.
        expected = (used - 4 + 1) * 15
        assert expected - PATIENCE_S <= int(caught.value.response.headers["retry-after"]) <= expected
        assert chat(watcher).usage.completion_tokens > 0


def test_a_short_request_that_is_refused_costs_a_key_nothing(limited):
    server = limited(tokens_per_minute=1, max_concurrent=1)
    with RawClient(server.port) as raw:
        for _ in range(3):
            answer = raw.post("/v1/completions", {"prompt": "Once", "max_tokens": 100_000}, f"X-Api-Key: {KEY}").read()
            assert answer.status == 400
        assert raw.post("/v1/completions", {"prompt": "Once", "max_tokens": 1}, f"X-Api-Key: {KEY}").read().status == 200


def test_a_client_that_leaves_pays_for_what_it_got(limited):
    server = limited(tokens_per_minute=1)
    with RawClient(server.port) as raw:
        raw.post("/v1/completions", {"prompt": "Once", "stream": True, **ENDLESS_BODY}, f"X-Api-Key: {KEY}")
        assert next(iter(raw.chunks() if raw.read_head().status == 200 else ())).startswith(b"data: ")
    eventually(server.is_idle, "the request is gone")
    with client_of(server, api_key=KEY) as client, pytest.raises(openai.RateLimitError):
        chat(client)
