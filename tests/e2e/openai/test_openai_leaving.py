"""Clients that leave before the answer is there: what they asked for is gone at once, and its pages are free."""

import re

import openai
import pytest

from conftest import client_of
from prompts import ENDLESS, MODEL, QUESTION
from waiting import eventually
from weft_server import WeftServer

ALL_TOKENS = ENDLESS["max_tokens"] * ENDLESS["n"]


def expect_gone(server: WeftServer, request_id: str) -> None:
    eventually(lambda: not server.running(), "the request is gone")
    line = server.wait_for_log(rf".*client_gone.*id={request_id}$")[0]
    output = re.search(r" out=(\d+) ", line)
    assert output is None or int(output[1]) < ALL_TOKENS, "it was stopped, and did not end by itself"


def test_a_chat_stream_that_is_closed_is_gone(server, client):
    with client.chat.completions.create(model=MODEL, messages=QUESTION, stream=True, **ENDLESS,
                                        extra_headers={"X-Request-Id": "left-chat"}) as stream:
        next(iter(stream))
        assert [entry["request_id"] for entry in server.running()] == ["left-chat"]
    expect_gone(server, "left-chat")


def test_a_completion_stream_that_is_closed_is_gone(server, client):
    with client.completions.create(model=MODEL, prompt="Once", stream=True, **ENDLESS,
                                   extra_headers={"X-Request-Id": "left-completion"}) as stream:
        next(iter(stream))
    expect_gone(server, "left-completion")


@pytest.mark.parametrize("path", ["chat", "completions"])
def test_an_answer_that_is_given_up_before_it_has_come_is_gone(server, path):
    request_id = f"given-up-{path}"
    options = {"model": MODEL, **ENDLESS, "extra_headers": {"X-Request-Id": request_id}}
    with client_of(server, timeout=0.2) as client, pytest.raises(openai.APITimeoutError):
        if path == "chat":
            client.chat.completions.create(messages=QUESTION, **options)
        else:
            client.completions.create(prompt="Once", **options)
    expect_gone(server, request_id)


def test_a_response_stream_that_is_closed_is_gone(server, client):
    with client.responses.create(model=MODEL, input="Tell me a story.", stream=True, max_output_tokens=900,
                                 extra_body={"ignore_eos": True}) as stream:
        next(iter(stream))
    eventually(lambda: not server.running(), "the request is gone")
