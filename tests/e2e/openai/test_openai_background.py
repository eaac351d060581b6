"""Responses that are made while nobody waits, that refer to items, and that are shortened, through OpenAI's client."""

import openai
import pytest

from conftest import StartServer, client_of
from prompts import MODEL
from waiting import eventually

ENDS = {"completed", "incomplete", "failed", "cancelled"}


def begin(client, **options):
    return client.responses.create(model=MODEL, background=True, **{"input": "What is Weft?", "temperature": 0, **options})


def ended(client, response):
    def look():
        found = client.responses.retrieve(response.id)
        return found if found.status in ENDS else None

    return eventually(look, "the response has ended")


def test_a_response_is_made_in_the_background_and_fetched(client):
    begun = begin(client, metadata={"mine": "yes"})
    assert (begun.status, begun.background, begun.output) == ("queued", True, [])
    made = ended(client, begun)
    assert (made.status, made.metadata) == ("completed", {"mine": "yes"})
    waited_for = client.responses.create(model=MODEL, input="What is Weft?", temperature=0)
    assert made.output_text == waited_for.output_text
    assert made.usage.output_tokens == waited_for.usage.output_tokens
    more = client.responses.create(model=MODEL, input="And then?", previous_response_id=made.id, max_output_tokens=4)
    assert len(client.responses.input_items.list(more.id).data) == 3


def endless(client):
    return begin(client, input="Tell me a story.", temperature=1, extra_body={"ignore_eos": True})


def test_one_that_runs_is_shown_and_cancelled(client):
    begun = endless(client)
    assert client.responses.retrieve(begun.id).status == "in_progress"
    with pytest.raises(openai.BadRequestError, match="has not been completed"):
        client.responses.create(model=MODEL, input="And?", previous_response_id=begun.id)
    with pytest.raises(openai.BadRequestError):
        client.responses.retrieve(begun.id, stream=True)
    cancelled = client.responses.cancel(begun.id)
    assert cancelled.status == "cancelled"
    assert client.responses.retrieve(begun.id).status == "cancelled"


def test_one_that_runs_is_deleted_for_good(client):
    begun = endless(client)
    client.responses.delete(begun.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(begun.id)


def test_one_that_cannot_be_made_says_why(client):
    made = ended(client, begin(client, input="Weft " * 2000))
    assert (made.status, made.error.code, made.usage) == ("failed", "context_length_exceeded", None)


def test_what_is_not_kept_cannot_be_made_in_the_background(client):
    for wrong in ({"store": False}, {"stream": True}):
        with pytest.raises(openai.BadRequestError) as caught:
            begin(client, **wrong)
        assert caught.value.param in wrong


def test_those_that_are_kept_are_bounded(start_server: StartServer):
    server = start_server(limits={"max_stored_responses": 2})
    with client_of(server) as client:
        begun = [begin(client, max_output_tokens=2, input=f"What is {i}?") for i in range(3)]
        kept = [response for response in begun if exists(client, response)]
        assert len(kept) == 2


def exists(client, response) -> bool:
    try:
        client.responses.retrieve(response.id)
    except openai.NotFoundError:
        return False
    return True


def test_items_are_referred_to_by_their_ids(client):
    first = client.responses.create(model=MODEL, input="What is Weft?", temperature=0)
    asked = client.responses.input_items.list(first.id).data[0]
    references = [{"type": "item_reference", "id": asked.id}, {"type": "item_reference", "id": first.output[0].id}]
    follow = {"role": "user", "content": "Who are you?"}
    by_items = client.responses.create(model=MODEL, input=[*references, follow], temperature=0)
    by_id = client.responses.create(model=MODEL, input=[follow], previous_response_id=first.id, temperature=0)
    assert by_items.usage.input_tokens == by_id.usage.input_tokens
    assert by_items.output_text == by_id.output_text
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model=MODEL, input=[{"type": "item_reference", "id": "msg_never"}])
    assert caught.value.param == "input[0].id"


def test_a_conversation_that_is_too_long_loses_its_beginning_where_that_is_asked_for(client):
    turns = [{"role": role, "content": f"{number} " + "word " * 40}
             for number in range(20) for role in ("user", "assistant")]
    question = {"role": "user", "content": "What is Weft?"}
    ask = {"model": MODEL, "input": [*turns, question], "max_output_tokens": 64, "temperature": 0}
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**ask)
    assert caught.value.code == "context_length_exceeded"
    answer = client.responses.create(**ask, truncation="auto")
    assert answer.truncation == "auto"
    assert 700 < answer.usage.input_tokens <= 1024 - 64
    with pytest.raises(openai.BadRequestError):
        client.responses.create(**{**ask, "input": "word " * 2000}, truncation="auto")


def test_a_conversation_is_compacted_and_goes_on(client):
    compacted = client.responses.compact(model=MODEL, input="What is Weft?")
    assert compacted.output[-1].type == "compaction"
    goes_on = [item.model_dump(exclude_none=True, warnings=False) for item in compacted.output]
    answer = client.responses.create(
        model=MODEL, input=[*goes_on, {"role": "user", "content": "Who are you?"}], max_output_tokens=8)
    texts = [item.content[0].text for item in client.responses.input_items.list(answer.id, order="asc")]
    assert texts[0] == "What is Weft?"
    assert texts[1] == "Summary of the conversation so far:\n" + compacted.output[-1].encrypted_content
