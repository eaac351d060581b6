"""Chat completions through OpenAI's client."""

import asyncio

import openai
import pytest

from prompts import MODEL, QUESTION, STORY
from waiting import PATIENCE_S
from weft_server import WeftServer


def chat(client: openai.OpenAI, **options):
    return client.chat.completions.create(
        **{"model": MODEL, "messages": QUESTION, "max_tokens": 24, "seed": 7, **options})


def test_a_chat_answers_in_text_and_counts_its_tokens(client):
    answer = chat(client, temperature=0, max_tokens=100)
    choice = answer.choices[0]
    assert "Weft" in choice.message.content
    assert (choice.message.role, choice.finish_reason, answer.object) == ("assistant", "stop", "chat.completion")
    assert answer.usage.completion_tokens > 5
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_the_pieces_of_a_stream_are_the_answer_that_comes_whole(client):
    whole = chat(client).choices[0]
    with chat(client, stream=True) as stream:
        chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole.message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks][-1] == whole.finish_reason
    assert chunks[0].choices[0].delta.role == "assistant"
    assert len({chunk.id for chunk in chunks}) == 1
    assert len(chunks) > 5, "it came in pieces"


def test_a_stream_ends_with_its_usage_when_that_is_asked_for(client):
    whole = chat(client)
    with chat(client, stream=True, stream_options={"include_usage": True}) as stream:
        *others, last = stream
    assert last.choices == []
    assert last.usage.model_dump() == whole.usage.model_dump()
    assert all(chunk.usage is None for chunk in others)


def test_the_same_seed_gives_the_same_text_and_another_another(client):
    texts = [chat(client, messages=STORY, seed=seed, temperature=2.0).choices[0].message.content for seed in (1, 1, 2, 3)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


def test_three_choices_are_three_texts(client):
    answer = chat(client, messages=STORY, n=3, temperature=2.0)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in answer.choices}) == 3
    with chat(client, messages=STORY, n=3, temperature=2.0, stream=True) as stream:
        texts = ["", "", ""]
        for chunk in stream:
            for choice in chunk.choices:
                texts[choice.index] += choice.delta.content or ""
    assert texts == [choice.message.content for choice in answer.choices]


def test_a_stop_string_ends_the_answer_and_is_left_out(client):
    whole = chat(client, temperature=0, max_tokens=100).choices[0].message.content
    word = whole.split()[2]
    cut = chat(client, temperature=0, max_tokens=100, stop=[word]).choices[0]
    assert cut.message.content == whole[:whole.index(word)]
    assert cut.finish_reason == "stop"


def test_each_chunks_text_is_that_of_its_tokens(client):
    options = {"temperature": 1.5, "seed": 3, "max_tokens": 200, "logprobs": True}
    with chat(client, stream=True, **options) as stream:
        chunks = [chunk.choices[0] for chunk in stream if chunk.choices]
    listed = []
    for choice in chunks:
        tokens = choice.logprobs.content if choice.logprobs else []
        assert bytes(byte for token in tokens for byte in token.bytes).decode() == (choice.delta.content or "")
        listed += tokens
    assert listed == chat(client, **options).choices[0].logprobs.content


def test_logprobs_come_with_each_token_and_its_rivals(client):
    choice = chat(client, temperature=0, logprobs=True, top_logprobs=3).choices[0]
    assert "".join(item.token for item in choice.logprobs.content) == choice.message.content
    for item in choice.logprobs.content:
        assert item.logprob <= 0
        assert len(item.top_logprobs) == 3
        assert item.top_logprobs[0].token == item.token, "greedy takes the first"
        assert bytes(item.bytes).decode(errors="replace") == item.token


def test_service_tier_flex_is_echoed(client):
    assert chat(client, service_tier="flex").service_tier == "flex"


def test_the_request_id_is_a_header_and_may_be_the_clients(client):
    own = client.chat.completions.with_raw_response.create(
        model=MODEL, messages=QUESTION, max_tokens=1, extra_headers={"X-Request-Id": "mine-1"})
    assert own.headers["x-request-id"] == "mine-1"
    answer = client.chat.completions.with_raw_response.create(model=MODEL, messages=QUESTION, max_tokens=1)
    assert answer.headers["x-request-id"].startswith("req_")
    assert answer.parse().choices[0].finish_reason == "length"
    assert answer.parse()._request_id == answer.headers["x-request-id"]


def test_the_served_model_is_listed_and_found(client):
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).id == MODEL


@pytest.mark.parametrize("stream", [False, True])
def test_half_of_sixty_async_streams_are_left_and_the_others_end(server: WeftServer, stream: bool):
    async def ask(client: openai.AsyncOpenAI, number: int) -> str | None:
        task = client.chat.completions.create(
            model=MODEL, messages=QUESTION, max_tokens=900 if number % 2 else 8, extra_body={"ignore_eos": True},
            stream=stream)
        if not stream:
            if number % 2:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(task, 0.05)
                return None
            return (await task).choices[0].finish_reason
        last = None
        async with await task as events:
            async for event in events:
                last = event.choices[0].finish_reason
                if number % 2:
                    return None
        return last

    async def ask_all() -> list[str | None]:
        async with openai.AsyncOpenAI(
                base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=4 * PATIENCE_S) as client:
            return await asyncio.gather(*(ask(client, number) for number in range(60)))

    assert asyncio.run(ask_all()) == ["length", None] * 30
