"""Refused requests, as exceptions of OpenAI's client."""

import socket

import openai
import pytest

from conftest import StartServer, chat, client_of
from prompts import ENDLESS, MODEL
from waiting import eventually


def test_a_value_out_of_range_is_a_bad_request_that_names_its_field(client):
    with pytest.raises(openai.BadRequestError) as caught:
        chat(client, temperature=-1)
    assert (caught.value.param, caught.value.code) == ("temperature", "invalid_value")
    assert caught.value.type == "invalid_request_error"
    assert caught.value.request_id.startswith("req_")


def test_a_misspelt_field_is_a_bad_request_that_names_it(client):
    with pytest.raises(openai.BadRequestError) as caught:
        chat(client, extra_body={"temperatur": 1})
    assert (caught.value.param, caught.value.code) == ("temperatur", "unknown_parameter")


def test_more_than_the_context_is_a_bad_request_with_the_numbers(client):
    with pytest.raises(openai.BadRequestError) as caught:
        chat(client, max_tokens=100_000)
    assert caught.value.code == "context_length_exceeded"
    assert "This model's maximum context length is 1024 tokens." in caught.value.message
    assert "100000 in the completion" in caught.value.message
    assert caught.value.message.count("max_tokens") == 0


def test_a_prompt_without_room_is_told_in_the_words_that_clients_look_for(client):
    with pytest.raises(openai.BadRequestError) as caught:
        chat(client, messages=[{"role": "user", "content": "word " * 5000}], max_tokens=None)
    assert caught.value.message.startswith("Error code: 400")
    assert "This model's maximum context length is 1024 tokens. However, your messages resulted in" in caught.value.message


def test_an_error_is_one_in_a_stream_too(client):
    with pytest.raises(openai.BadRequestError):
        chat(client, max_tokens=100_000, stream=True)


def test_tools_that_are_no_functions_are_refused_by_name(client):
    with pytest.raises(openai.BadRequestError) as caught:
        chat(client, tools=[{"type": "custom", "custom": {"name": "look"}}])
    assert caught.value.param.startswith("tools[0]")


def test_a_model_that_is_not_served_is_not_found(client):
    with pytest.raises(openai.NotFoundError) as caught:
        chat(client, model="another")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("another")


def test_a_response_that_was_never_made_is_not_found(client):
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_never")
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model=MODEL, input="And then?", previous_response_id="resp_never")
    assert caught.value.code == "previous_response_not_found"


def test_a_full_queue_is_a_rate_limit_that_says_when_to_come_again(start_server: StartServer):
    server = start_server(edge={"max_queued_requests": 1})
    with client_of(server) as client:
        with chat(client, stream=True, **ENDLESS) as stream:
            next(iter(stream))
            with pytest.raises(openai.RateLimitError) as caught:
                chat(client)
        assert caught.value.code == "overloaded"
        assert "too many requests wait: the engine is overloaded; try again later" in caught.value.message
        assert int(caught.value.response.headers["retry-after"]) >= 1
        eventually(server.is_idle, "the one that ran is gone")
        assert chat(client).choices[0].finish_reason == "length"


def test_a_server_that_is_not_there_is_a_connection_error(server):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with client_of(server, base_url=f"http://127.0.0.1:{port}/v1") as client:
        with pytest.raises(openai.APIConnectionError):
            chat(client)
