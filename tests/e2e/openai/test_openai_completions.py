"""Text completions through OpenAI's client."""

import asyncio

import openai

from prompts import MODEL
from waiting import PATIENCE_S
from weft_server import WeftServer


def complete(client, prompt="Once upon a time", **options):
    return client.completions.create(model=MODEL, prompt=prompt, **{"max_tokens": 16, "seed": 7, **options})


def test_a_completion_goes_on_with_the_text(client):
    answer = complete(client)
    assert (answer.object, answer.choices[0].finish_reason) == ("text_completion", "length")
    assert answer.usage.completion_tokens == 16
    assert answer.choices[0].text


def test_several_prompts_have_their_own_choices(client):
    answer = complete(client, prompt=["One", "Two"], n=2, extra_body={"ignore_eos": True})
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    assert answer.usage.completion_tokens == 64


def test_the_pieces_of_a_stream_are_the_completion_that_comes_whole(client):
    whole = complete(client)
    with complete(client, stream=True, stream_options={"include_usage": True}) as stream:
        *chunks, last = stream
    assert "".join(choice.text for chunk in chunks for choice in chunk.choices) == whole.choices[0].text
    assert last.usage.model_dump() == whole.usage.model_dump()


def test_echo_puts_the_prompt_in_front(client):
    plain = complete(client).choices[0].text
    assert complete(client, echo=True).choices[0].text == "Once upon a time" + plain


def test_logprobs_are_columns_of_equal_length(client):
    logprobs = complete(client, logprobs=2).choices[0].logprobs
    assert len(logprobs.tokens) == len(logprobs.token_logprobs) == len(logprobs.top_logprobs) == 16
    assert all(len(top) >= 2 for top in logprobs.top_logprobs)


def test_a_prompt_of_token_ids_is_that_of_its_text(client, raw):
    ids = raw.post("/tokenize", {"prompt": "Once upon a time"}).read().json()["tokens"]
    assert complete(client, prompt=ids).choices[0].text == complete(client).choices[0].text


def test_two_hundred_at_once_are_answered_as_if_each_were_alone(server: WeftServer, client: openai.OpenAI):
    async def ask(caller: openai.AsyncOpenAI, number: int) -> str:
        answer = await caller.completions.create(
            model=MODEL, prompt="Once", max_tokens=4, seed=number % 5, temperature=2.0)
        return answer.choices[0].text

    async def ask_all() -> list[str]:
        async with openai.AsyncOpenAI(
                base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=4 * PATIENCE_S) as caller:
            return await asyncio.gather(*(ask(caller, number) for number in range(200)))

    texts = asyncio.run(ask_all())
    for seed in range(5):
        alone = complete(client, prompt="Once", seed=seed, temperature=2.0, max_tokens=4).choices[0].text
        assert set(texts[seed::5]) == {alone}
