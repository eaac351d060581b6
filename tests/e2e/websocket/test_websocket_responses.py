"""Responses over a WebSocket, with the flow of Open Responses."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.sync.client import ClientConnection, connect

from response_socket import ENDS, ask, create, receive, receive_response, text_of, url_of
from waiting import PATIENCE_S, eventually
from weft_server import WeftServer


@pytest.fixture
def socket(server: WeftServer) -> Iterator[ClientConnection]:
    with connect(url_of(server), open_timeout=PATIENCE_S) as made:
        yield made


def test_a_response_is_events_whose_numbers_rise_by_one(socket):
    events = ask(socket, max_output_tokens=100)
    types = [event["type"] for event in events]
    assert types[:4] == ["response.created", "response.in_progress", "response.output_item.added",
                         "response.content_part.added"]
    assert types[-1] == "response.completed"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    output = events[-1]["response"]["output"][0]["content"][0]["text"]
    assert output == text_of(events) and "Weft" in output
    assert all("stream_id" not in event for event in events)


def test_openai_agents_and_codex_may_say_that_it_streams(socket):
    events = ask(socket, stream=True, include=["reasoning.encrypted_content"], client_metadata={"a": "b"}, tools=[])
    assert events[-1]["type"] in ("response.completed", "response.incomplete")


def test_a_conversation_goes_on_without_being_stored(socket, raw):
    first = ask(socket, store=False, max_output_tokens=100)[-1]["response"]
    assert raw.send_request("GET", f"/v1/responses/{first['id']}").read().status == 404
    second = ask(socket, store=False, input="And then?", previous_response_id=first["id"])[-1]["response"]
    alone = ask(socket, store=False, input="And then?")[-1]["response"]
    assert second["previous_response_id"] == first["id"]
    assert second["usage"]["input_tokens"] > alone["usage"]["input_tokens"] + first["usage"]["output_tokens"]


def test_what_one_socket_has_not_stored_no_other_can_continue(server, socket):
    first = ask(socket, store=False)[-1]["response"]
    with connect(url_of(server)) as other:
        answer = ask(other, previous_response_id=first["id"])[-1]
    assert (answer["type"], answer["error"]["code"]) == ("error", "previous_response_not_found")


def test_an_unknown_id_is_an_error_and_the_socket_goes_on(socket):
    answer = ask(socket, previous_response_id="resp_never")
    assert [event["type"] for event in answer] == ["error"]
    assert (answer[0]["status"], answer[0]["error"]["code"]) == (400, "previous_response_not_found")
    assert ask(socket)[-1]["type"] in ("response.completed", "response.incomplete")


@pytest.mark.parametrize("message", [
    '{"type":"response.dance"}', '{"type":5}', "{}", "[]", "no JSON", "", '{"type":"response.cancel"}',
    '{"type":"response.create"}', '{"type":"response.create","input":"x","stream_id":""}',
    '{"type":"response.create","input":"x","stream":false}', '{"type":"response.create","input":"x","generate":5}',
    '{"type":"response.create","input":"x","background":true}', "[" * 10_000])
def test_a_message_that_makes_no_sense_is_an_error_and_the_socket_goes_on(socket, message):
    socket.send(message)
    answer = receive(socket)
    assert answer["type"] == "error" and 400 <= answer["status"] < 500
    assert ask(socket, max_output_tokens=2)[-1]["type"] == "response.incomplete"


def test_a_response_without_generation_warms_up_and_can_be_continued(socket):
    events = ask(socket, generate=False, store=False)
    assert [event["type"] for event in events] == ["response.created", "response.in_progress", "response.completed"]
    warm = events[-1]["response"]
    assert warm["output"] == []
    follow = ask(socket, input="Tell me.", previous_response_id=warm["id"], store=False)[-1]["response"]
    alone = ask(socket, input="Tell me.")[-1]["response"]
    assert follow["usage"]["input_tokens"] > alone["usage"]["input_tokens"]


def test_a_response_that_is_cancelled_is_incomplete(socket):
    socket.send(create(max_output_tokens=900, temperature=1, ignore_eos=True))
    created = receive(socket)["response"]
    socket.send(json.dumps({"type": "response.cancel", "response_id": created["id"]}))
    last = receive_response(socket)[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["usage"]["output_tokens"] < 900
    assert ask(socket, max_output_tokens=2)[-1]["type"] == "response.incomplete"


def test_streams_come_interleaved_and_each_in_order(socket):
    for stream_id in "abc":
        socket.send(create(stream_id=stream_id, ignore_eos=True, max_output_tokens=200))
    streams: dict[str, list[dict[str, Any]]] = {"a": [], "b": [], "c": []}
    order = ""
    while not all(events and events[-1]["type"] in ENDS for events in streams.values()):
        event = receive(socket)
        order += event["stream_id"]
        streams[event["stream_id"]].append(event)
    for events in streams.values():
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert len({text_of(events) for events in streams.values()}) == 1, "each is as if it were alone"
    assert order.rindex("a") > order.index("c"), "the third began before the first had ended"


def test_one_stream_is_cancelled_and_the_other_ends_by_itself(socket):
    socket.send(create(stream_id="long", ignore_eos=True, max_output_tokens=900, temperature=1))
    socket.send(create(stream_id="short", ignore_eos=True, max_output_tokens=8))
    socket.send(json.dumps({"type": "response.cancel", "stream_id": "long"}))
    ends: dict[str, dict[str, Any]] = {}
    while len(ends) < 2:
        event = receive(socket)
        if event["type"] in ENDS:
            ends[event["stream_id"]] = event["response"]
    assert ends["short"]["usage"]["output_tokens"] == 8
    usage = ends["long"]["usage"]  # of a response that had not begun there is none
    assert usage is None or usage["output_tokens"] < 900


def test_messages_of_one_stream_wait_for_each_other(socket):
    for number in (2, 3, 4):
        socket.send(create(max_output_tokens=number, ignore_eos=True))
    answers = [receive_response(socket)[-1]["response"] for _ in range(3)]
    assert [answer["usage"]["output_tokens"] for answer in answers] == [2, 3, 4]


def test_more_streams_than_may_be_are_refused(socket):
    for stream_id in range(17):
        socket.send(create(stream_id=str(stream_id), ignore_eos=True, max_output_tokens=900))
    while (event := receive(socket))["type"] != "error":
        pass
    assert (event["status"], event["error"]["code"], event["stream_id"]) == (429, "too_many_streams", "16")


def test_a_socket_that_is_left_takes_its_responses_with_it(server):
    with connect(url_of(server)) as socket:
        for stream_id in "ab":
            socket.send(create(stream_id=stream_id, ignore_eos=True, max_output_tokens=900, temperature=1))
        ids = set()
        while len(ids) < 2:
            event = receive(socket)
            if event["type"] == "response.created":
                ids.add(event["response"]["id"])
        assert {entry["id"] for entry in server.running()} == ids
    eventually(lambda: not server.running(), "both are gone")
    for response_id in ids:
        assert "client_gone" in server.wait_for_log(rf"WS /v1/responses 499.*id={response_id}")[0]


def test_fifty_sockets_at_once_are_answered_alike(server: WeftServer):
    async def one(number: int) -> str:
        async with connect_async(url_of(server), open_timeout=PATIENCE_S) as socket:
            await socket.send(create(max_output_tokens=8, ignore_eos=True))
            text = ""
            while (event := json.loads(await asyncio.wait_for(socket.recv(), PATIENCE_S)))["type"] not in ENDS:
                text += event.get("delta", "")
            assert event["response"]["usage"]["output_tokens"] == 8
            return text

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(one(number) for number in range(50)))

    assert len(set(asyncio.run(all_of_them()))) == 1
