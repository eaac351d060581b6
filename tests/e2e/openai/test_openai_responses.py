"""Responses through OpenAI's client."""

import openai
import pytest

from prompts import MODEL


def respond(client, **options):
    return client.responses.create(
        model=MODEL, **{"input": "What is Weft?", "max_output_tokens": 32, "temperature": 0, **options})


def test_a_response_has_text_and_is_kept(client):
    answer = respond(client, max_output_tokens=100, metadata={"mine": "yes"})
    assert answer.status == "completed"
    assert "Weft" in answer.output_text
    assert answer.metadata == {"mine": "yes"}
    assert client.responses.retrieve(answer.id).output_text == answer.output_text
    client.responses.delete(answer.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(answer.id)


def test_a_response_that_is_kept_can_be_streamed(client):
    answer = respond(client, max_output_tokens=100)
    with client.responses.retrieve(answer.id, stream=True) as stream:
        events = list(stream)
    assert events[0].type == "response.created"
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == answer.output_text
    assert (events[-1].type, events[-1].response) == ("response.completed", answer)
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.retrieve(answer.id, stream=True, starting_after=3)
    assert caught.value.param == "starting_after"


def test_the_input_of_a_response_that_is_kept_can_be_listed(client):
    first = respond(client, instructions="Be brief.")
    second = respond(client, input="And then?", previous_response_id=first.id)
    texts = [item.content[0].text for item in client.responses.input_items.list(second.id, order="asc", limit=2)]
    assert texts == ["What is Weft?", first.output_text, "And then?"], "of all pages"
    with pytest.raises(openai.NotFoundError):
        client.responses.input_items.list("resp_never")


def test_an_input_is_counted_before_it_is_sent(client):
    counted = client.responses.input_tokens.count(model=MODEL, input="What is Weft?")
    assert counted.input_tokens == respond(client).usage.input_tokens
    with pytest.raises(openai.BadRequestError):
        client.responses.input_tokens.count(model=MODEL, input=[])


def test_a_named_tool_that_is_not_there_is_refused(client):
    with pytest.raises(openai.BadRequestError) as caught:
        respond(client, tool_choice={"type": "function", "name": "look"})
    assert (caught.value.param, "no tools" in caught.value.message) == ("tool_choice", True)


def test_a_response_that_is_not_to_be_stored_is_not(client):
    answer = respond(client, store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(answer.id)


def test_a_response_goes_on_from_the_one_before_it(client):
    first = respond(client, max_output_tokens=100)
    second = respond(client, input="Tell me a story.", previous_response_id=first.id)
    alone = respond(client, input="Tell me a story.")
    assert second.previous_response_id == first.id
    assert second.usage.input_tokens > alone.usage.input_tokens + first.usage.output_tokens


def test_an_output_that_is_cut_is_incomplete(client):
    answer = respond(client, max_output_tokens=2, extra_body={"ignore_eos": True})
    assert (answer.status, answer.incomplete_details.reason) == ("incomplete", "max_output_tokens")


def test_a_stream_has_numbered_events_from_created_to_completed(client):
    whole = respond(client, max_output_tokens=100)
    with respond(client, max_output_tokens=100, stream=True) as stream:
        events = list(stream)
    types = [event.type for event in events]
    assert types[:4] == ["response.created", "response.in_progress", "response.output_item.added",
                         "response.content_part.added"]
    assert types[-4:] == ["response.output_text.done", "response.content_part.done", "response.output_item.done",
                          "response.completed"]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == whole.output_text
    assert events[-1].response.output_text == whole.output_text


def test_the_stream_helper_follows_the_events(client):
    with client.responses.stream(model=MODEL, input="What is Weft?", max_output_tokens=32) as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_text


def test_logprobs_are_included_when_asked_for(client):
    answer = respond(client, include=["message.output_text.logprobs"], top_logprobs=2)
    logprobs = answer.output[0].content[0].logprobs
    assert len(logprobs) >= answer.usage.output_tokens - 1
    assert all(len(item.top_logprobs) == 2 for item in logprobs)


def test_a_response_that_runs_is_cancelled_by_its_id(client):
    with respond(client, stream=True, max_output_tokens=900, temperature=1,
                 extra_body={"ignore_eos": True}) as stream:
        events = iter(stream)
        created = next(events)
        assert created.type == "response.created"
        client.responses.cancel(created.response.id)
        last = list(events)[-1]
    assert (last.type, last.response.status) == ("response.incomplete", "incomplete")
    assert last.response.usage.output_tokens < 900
