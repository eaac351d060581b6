"""The cases of Open Responses' public acceptance tests, but for the one with an image.

Source: https://www.openresponses.org/compliance (2026-10-08): ten over HTTP, of which one looks at its own schema alone
and has nothing to ask a server, and seven over the WebSocket."""

import json
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from response_socket import receive_response, url_of
from waiting import PATIENCE_S
from weft_server import WeftServer

MODEL = "model"
NULL = type(None)
# What a response must have, whatever it is, and of which type.
FIELDS: dict[str, tuple[type, ...]] = {
    "id": (str,), "object": (str,), "created_at": (int,), "completed_at": (int, NULL), "status": (str,),
    "incomplete_details": (dict, NULL), "model": (str,), "previous_response_id": (str, NULL), "instructions": (str, NULL),
    "output": (list,), "error": (dict, NULL), "tools": (list,), "tool_choice": (str, dict), "truncation": (str,),
    "parallel_tool_calls": (bool,), "text": (dict,), "top_p": (int, float), "presence_penalty": (int, float),
    "frequency_penalty": (int, float), "top_logprobs": (int,), "temperature": (int, float), "reasoning": (dict, NULL),
    "usage": (dict, NULL), "max_output_tokens": (int, NULL), "max_tool_calls": (int, NULL), "store": (bool,),
    "background": (bool,), "service_tier": (str,), "metadata": (dict,), "safety_identifier": (str, NULL),
    "prompt_cache_key": (str, NULL)}
ITEM_FIELDS = {"message": ["id", "status", "role", "content"], "reasoning": ["id", "summary"],
               "function_call": ["id", "call_id", "name", "arguments", "status"], "compaction": ["id", "encrypted_content"]}
EVENTS = {"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
          "response.output_text.delta", "response.output_text.done", "response.content_part.done",
          "response.output_item.done", "response.reasoning_text.delta", "response.reasoning_text.done",
          "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.completed"}
WEATHER = {"type": "function", "name": "get_weather", "description": "Get the current weather for a location",
           "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]}}


def said(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content, **fields}


def check_usage(usage: dict[str, Any]) -> None:
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_tokens_details"]["cached_tokens"] >= 0
    assert usage["output_tokens_details"]["reasoning_tokens"] >= 0


def check_items(items: list[dict[str, Any]]) -> None:
    for item in items:
        missing = [field for field in ITEM_FIELDS[item["type"]] if field not in item]
        assert not missing, item


def check(response: dict[str, Any]) -> dict[str, Any]:
    for field, types in FIELDS.items():
        assert field in response and isinstance(response[field], types), (field, response.get(field))
    check_items(response["output"])
    check_usage(response["usage"])
    for tool in response["tools"]:
        assert {"name", "description", "parameters", "strict"} <= tool.keys()
    assert response["object"] == "response"
    return response


def check_completed(response: dict[str, Any]) -> dict[str, Any]:
    assert check(response)["status"] == "completed" and response["output"]
    return response


def check_events(events: list[dict[str, Any]]) -> dict[str, Any]:
    assert {event["type"] for event in events} <= EVENTS
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return check_completed(events[-1]["response"])


class Http:
    def __init__(self, server: WeftServer) -> None:
        self.client = httpx.Client(base_url=server.url + "/v1", timeout=PATIENCE_S)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.client.post(path, json={"model": MODEL, **body})

    def respond(self, *items: Any, **fields: Any) -> dict[str, Any]:
        answer = self.post("/responses", input=list(items), **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def http(script_server: WeftServer):
    with (asking := Http(script_server)).client:
        yield asking


@pytest.fixture
def socket(script_server: WeftServer):
    with connect(url_of(script_server)) as opened:
        yield opened


def turn(socket: Any, given: Any, **fields: Any) -> list[dict[str, Any]]:
    """One response.create with nothing but what the cases send."""
    socket.send(json.dumps({"type": "response.create", "model": MODEL, "input": given, **fields}))
    return receive_response(socket)


def test_a_basic_text_response(http):
    check_completed(http.respond(said("user", "Say hello in exactly 3 words.")))


def test_assistant_messages_with_a_phase(http):
    check_completed(http.respond(
        said("assistant", "I should answer with the saved number.", phase="commentary"),
        said("assistant", "The number is four.", phase="final_answer"), said("user", "Repeat only the number.")))


def test_a_streaming_response(http):
    with http.client.stream("POST", "/responses", json={
            "model": MODEL, "input": [said("user", "Count from 1 to 5.")], "stream": True}) as answer:
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: ")]
    assert lines.pop() == "[DONE]"
    check_events([json.loads(line) for line in lines])


def test_a_system_prompt(http):
    check_completed(http.respond(said("system", "You are a pirate. Always respond in pirate speak."),
                                 said("user", "Say hello.")))


def test_tool_calling(http):
    response = check(http.respond(said("user", "What's the weather like in San Francisco?"), tools=[WEATHER]))
    assert "function_call" in [item["type"] for item in response["output"]]


def test_a_conversation_of_several_turns(http):
    check_completed(http.respond(
        said("user", "My name is Alice."), said("assistant", "Hello Alice! Nice to meet you. How can I help you today?"),
        said("user", "What is my name?")))


def test_a_conversation_is_compacted(http):
    answer = http.post("/responses/compact", prompt_cache_key="openresponses-compact-test", input=[
        said("user", "We agreed to launch on Tuesday and notify support first."),
        said("assistant", "Understood. The launch is Tuesday, with support notified beforehand.")])
    compacted = answer.json()
    assert (answer.status_code, compacted["object"]) == (200, "response.compaction")
    assert compacted["id"] and isinstance(compacted["created_at"], int)
    check_items(compacted["output"])
    check_usage(compacted["usage"])
    assert compacted["output"][0]["content"][0]["text"].startswith("We agreed")
    assert compacted["output"][-1]["type"] == "compaction"


def test_a_compaction_wants_a_model(http):
    answer = http.client.post("/responses/compact", json={"input": [said("user", "Compact this conversation.")]})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "model")


def test_a_response_over_the_websocket(socket):
    check_events(turn(socket, [said("user", "Count from 1 to 3.")]))


def test_responses_one_after_the_other_over_the_websocket(socket):
    for word in ("first", "second"):
        check_events(turn(socket, f"Reply with exactly: {word}", store=False))


def test_a_response_that_is_not_stored_is_continued_on_its_connection(socket):
    first = check_events(turn(socket, "Remember the code word: cobalt. Reply with OK.", store=False))
    check_events(turn(socket, "What is the code word?", store=False, previous_response_id=first["id"]))


def test_it_is_not_continued_on_another_connection_which_begins_anew(script_server, socket):
    first = check_events(turn(socket, "Remember the code word: copper. Reply with OK.", store=False))
    with connect(url_of(script_server)) as other:
        refused = turn(other, "Try to continue after reconnect.", store=False, previous_response_id=first["id"])
        assert refused[-1]["error"]["code"] == "previous_response_not_found"
        check_events(turn(other, [said("user", "Start a new response.")], store=False))


def test_a_previous_response_that_never_was_is_not_found(socket):
    refused = turn(socket, "This should fail.", store=False, previous_response_id="resp_openresponses_missing_1")
    assert refused[-1]["error"]["code"] == "previous_response_not_found"


def test_a_continuation_that_fails_takes_what_it_continued_along(socket):
    first = check_events(turn(socket, "Remember the code word: ember. Reply with OK.", store=False))
    failed = turn(socket, [{"type": "function_call_output", "call_id": "call_openresponses_missing",
                            "output": "No matching tool call exists."}], store=False, previous_response_id=first["id"])
    assert failed[-1]["type"] == "error" and failed[-1]["error"]["param"] == "input[0].call_id"
    stale = turn(socket, "Try to continue.", store=False, previous_response_id=first["id"])
    assert stale[-1]["error"]["code"] == "previous_response_not_found"


def test_what_was_compacted_begins_a_new_conversation_on_the_websocket(http, socket):
    compacted = http.post("/responses/compact", input=[
        said("user", [{"type": "input_text", "text": "Remember the compaction code word: slate."}]),
        said("assistant", [{"type": "output_text", "text": "OK."}]),
        said("user", [{"type": "input_text", "text": "Compress this conversation for later continuation."}])]).json()
    check_events(turn(socket, [*compacted["output"], said("user", "Continue from here.")], store=False, tools=[]))
