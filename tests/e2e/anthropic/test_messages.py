"""Anthropic's Messages API through Anthropic's client."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from conftest import StartServer
from prompts import MODEL, QUESTION, STORY
from raw_http import RawClient
from waiting import PATIENCE_S, eventually
from weft_server import WeftServer

ENDLESS: dict[str, Any] = {"max_tokens": 900, "extra_body": {"temperature": 1.0, "ignore_eos": True}}


def messages_client(server: WeftServer, **options: Any) -> anthropic.Anthropic:
    """Anthropic's client, without the retries that would hide what the tests want to see fail."""
    return anthropic.Anthropic(**{"base_url": server.url, "api_key": "none", "max_retries": 0, "timeout": PATIENCE_S,
                                  **options})


@pytest.fixture
def claude(server: WeftServer) -> Iterator[anthropic.Anthropic]:
    with messages_client(server) as made:
        yield made


def ask(client: anthropic.Anthropic, **options: Any) -> Any:
    """Takes the most probable tokens, unless the sampling is said."""
    return client.messages.create(**{"model": MODEL, "max_tokens": 24, "messages": QUESTION,
                                     "extra_body": {"temperature": 0}, **options})


def prompt_tokens(usage: Any) -> int:
    return usage.input_tokens + usage.cache_read_input_tokens


def test_a_message_answers_in_text_and_counts_its_tokens(claude):
    message = ask(claude, max_tokens=100)
    assert [block.type for block in message.content] == ["text"]
    assert "Weft" in message.content[0].text
    assert (message.type, message.role, message.model) == ("message", "assistant", MODEL)
    assert (message.stop_reason, message.stop_sequence) == ("end_turn", None)
    assert message.usage.output_tokens > 5
    counted = claude.messages.count_tokens(model=MODEL, messages=QUESTION)
    assert prompt_tokens(message.usage) == counted.input_tokens
    assert message._request_id.startswith("req_")


def test_it_is_what_a_chat_completion_says(claude, client):
    said = client.chat.completions.create(model=MODEL, messages=QUESTION, max_tokens=24, temperature=0)
    assert ask(claude).content[0].text == said.choices[0].message.content


def test_the_pieces_of_a_stream_are_the_answer_that_comes_whole(claude):
    whole = ask(claude, max_tokens=100)
    with claude.messages.stream(model=MODEL, max_tokens=100, messages=QUESTION, extra_body={"temperature": 0}) as stream:
        pieces = list(stream.text_stream)
        last = stream.get_final_message()
    assert "".join(pieces) == whole.content[0].text == last.content[0].text
    assert len(pieces) > 5, "it came in pieces"
    assert (prompt_tokens(last.usage), last.usage.output_tokens) == (prompt_tokens(whole.usage), whole.usage.output_tokens)
    assert last.stop_reason == whole.stop_reason


def test_a_stream_has_its_events_in_their_order(claude):
    with ask(claude, stream=True) as stream:
        kinds = [event.type for event in stream]
    deltas = kinds.count("content_block_delta")
    assert deltas > 1
    assert kinds == ["message_start", "content_block_start", *["content_block_delta"] * deltas, "content_block_stop",
                     "message_delta", "message_stop"]


def test_texts_and_blocks_are_the_same(claude):
    blocks = [{"type": "text", "text": "What is Weft?", "cache_control": {"type": "ephemeral"}}]
    assert ask(claude, messages=[{"role": "user", "content": blocks}]).content == ask(claude).content
    as_text = ask(claude, system="Be short.")
    assert ask(claude, system=[{"type": "text", "text": "Be short."}]).content == as_text.content
    assert prompt_tokens(as_text.usage) != prompt_tokens(ask(claude).usage)


def test_a_message_goes_back_as_it_came(claude):
    first = ask(claude)
    turns = [*QUESTION, first.to_param(), {"role": "user", "content": "And what is 2 + 3?"}]
    second = ask(claude, messages=turns)
    assert prompt_tokens(second.usage) > prompt_tokens(first.usage) + first.usage.output_tokens


def test_a_stop_sequence_ends_a_message_and_is_told(claude):
    whole = ask(claude, max_tokens=100).content[0].text
    word = whole.split()[3]
    message = ask(claude, max_tokens=100, stop_sequences=["never said", word])
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", word)
    assert message.content[0].text == whole[:whole.index(word)]


def test_a_bound_ends_a_message(claude):
    message = ask(claude, max_tokens=3)
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 3)


def test_a_bound_beyond_the_context_ends_where_the_context_does(claude):
    message = ask(claude, max_tokens=100_000, extra_body={"temperature": 1.0, "seed": 1, "ignore_eos": True},
                  messages=[{"role": "user", "content": "word " * 230}])
    assert message.stop_reason == "model_context_window_exceeded"
    assert prompt_tokens(message.usage) + message.usage.output_tokens == 1024


def test_the_same_seed_gives_the_same_text_and_another_another(claude):
    texts = [ask(claude, messages=STORY, extra_body={"temperature": 2.0, "seed": seed}).content[0].text for seed in (1, 1, 2, 3)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


def test_the_models_are_listed_with_their_context(claude):
    listed = list(claude.models.list())
    assert [(model.id, model.type, model.max_input_tokens) for model in listed] == [(MODEL, "model", 1024)]
    assert claude.models.retrieve(MODEL) == listed[0]


def test_what_is_wrong_is_a_bad_request_that_names_its_field(claude):
    wrong = {
        "max_tokens": {"max_tokens": 0},
        "temperature": {"extra_body": {"temperature": -1}},
        "temperatur": {"extra_body": {"temperatur": 1}},
        "stop_sequences[0]": {"stop_sequences": [""]},
        "messages": {"messages": []},
        "messages[0].role": {"messages": [{"role": "robot", "content": "a"}]},
        "messages[0].content[0].type": {"messages": [{"role": "user", "content": [
            {"type": "image", "source": {"type": "url", "url": "http://example.com/a.png"}}]}]},
    }
    for field, options in wrong.items():
        with pytest.raises(anthropic.BadRequestError) as caught:
            ask(claude, **options)
        body = caught.value.body
        assert body["type"] == "error"
        assert body["error"]["type"] == "invalid_request_error"
        assert field in body["error"]["message"], body
        assert body["request_id"] == caught.value.request_id


def test_a_prompt_that_is_too_long_is_told_in_the_words_that_clients_look_for(claude):
    with pytest.raises(anthropic.BadRequestError) as caught:
        ask(claude, messages=[{"role": "user", "content": "word " * 5000}])
    assert caught.value.body["error"]["message"].startswith("prompt is too long: ")
    assert "1024 tokens" in caught.value.body["error"]["message"]


def test_a_model_that_is_not_served_is_not_found(claude):
    with pytest.raises(anthropic.NotFoundError) as caught:
        ask(claude, model="claude-of-elsewhere")
    assert caught.value.body["error"]["type"] == "not_found_error"


def test_a_key_is_shown_in_either_way(start_server: StartServer):
    server = start_server(auth={"api_key": "sk-the-right-one"})
    with messages_client(server, api_key="sk-the-right-one") as client:
        ask(client)
    with messages_client(server, api_key=None, auth_token="sk-the-right-one") as client:
        ask(client)
    with messages_client(server, api_key="sk-another") as client, pytest.raises(anthropic.AuthenticationError) as caught:
        ask(client)
    assert caught.value.body["error"]["type"] == "authentication_error"


def test_a_full_queue_is_a_rate_limit_that_says_when_to_come_again(start_server: StartServer):
    server = start_server(edge={"max_queued_requests": 1})
    with messages_client(server) as client:
        with ask(client, stream=True, messages=STORY, **ENDLESS) as stream:
            next(iter(stream))
            with pytest.raises(anthropic.RateLimitError) as caught:
                ask(client)
        assert caught.value.body["error"]["type"] == "rate_limit_error"
        assert int(caught.value.response.headers["retry-after"]) >= 1
        eventually(server.is_idle, "the one that ran is gone")
        assert ask(client).stop_reason


def test_a_stream_that_is_closed_is_gone(server, claude):
    with ask(claude, stream=True, messages=STORY, extra_headers={"X-Request-Id": "left-message"}, **ENDLESS) as stream:
        next(iter(stream))
        assert [entry["request_id"] for entry in server.running()] == ["left-message"]
    eventually(lambda: not server.running(), "the request is gone")
    server.wait_for_log(r"client_gone.*id=left-message$")


def test_an_answer_that_is_given_up_before_it_has_come_is_gone(server):
    with messages_client(server, timeout=0.2) as client, pytest.raises(anthropic.APITimeoutError):
        ask(client, messages=STORY, extra_headers={"X-Request-Id": "given-up-message"}, **ENDLESS)
    eventually(lambda: not server.running(), "the request is gone")
    server.wait_for_log(r"client_gone.*id=given-up-message$")


def test_a_failure_in_the_middle_of_a_stream_is_an_event(server):
    body = {"model": MODEL, "max_tokens": 900, "messages": STORY, "stream": True, "ignore_eos": True, "temperature": 1.0}
    with RawClient(server.port) as raw:
        answer = raw.read_cut_stream("/v1/messages", body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = answer.body.decode().split("\n\n")
    assert events[0].startswith("event: message_start\n")
    assert events[-2].startswith('event: error\ndata: {"type":"error","error":{"type":"timeout_error",')
    assert events[-1] == ""
