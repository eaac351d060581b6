"""Text completions through OpenAI's client."""

import asyncio
import json
import math
import subprocess

import openai
import pytest

from prompts import MODEL
from waiting import PATIENCE_S
from weft_server import MODEL as FOLDER
from weft_server import WeftServer, program


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


def log_softmax(logits: list[float]) -> list[float]:
    best = max(logits)
    whole = best + math.log(math.fsum(math.exp(logit - best) for logit in logits))
    return [logit - whole for logit in logits]


def test_an_echo_has_the_logprobs_that_the_models_logits_give(client, raw):
    ids = raw.post("/tokenize", {"prompt": "What is Weft? Weft is"}).read().json()["tokens"]
    logprobs = complete(client, prompt=ids, echo=True, logprobs=2, max_tokens=0).choices[0].logprobs
    shown = subprocess.run(
        [program(), "logits", str(FOLDER), "--ids", ",".join(map(str, ids)), "--json"], check=True, capture_output=True)
    rows = [log_softmax(row) for row in json.loads(shown.stdout)["logits"]]
    assert logprobs.token_logprobs[0] is None and logprobs.top_logprobs[0] is None
    for i in range(1, len(ids)):
        assert logprobs.token_logprobs[i] == pytest.approx(rows[i - 1][ids[i]], abs=1e-5)
        best = sorted(rows[i - 1], reverse=True)[:2]
        assert sorted(logprobs.top_logprobs[i].values(), reverse=True)[:2] == pytest.approx(best, abs=1e-5)


def test_a_text_that_was_written_has_the_logprobs_with_which_it_was(client):
    prompt = "Once upon a time"
    wrote = complete(client, prompt=prompt, logprobs=0, temperature=0).choices[0]
    whole = complete(client, prompt=prompt, logprobs=0, temperature=0, echo=True, stream=False).choices[0]
    assert whole.text == prompt + wrote.text
    assert whole.logprobs.token_logprobs[-16:] == wrote.logprobs.token_logprobs
    with complete(client, prompt=prompt, logprobs=0, temperature=0, echo=True, stream=True) as stream:
        choices = [choice for chunk in stream for choice in chunk.choices]
    assert sum((choice.logprobs.tokens for choice in choices if choice.logprobs), []) == whole.logprobs.tokens
    assert sum((c.logprobs.text_offset for c in choices if c.logprobs), []) == whole.logprobs.text_offset


def test_no_output_is_made_where_the_prompt_alone_is_asked_for(client):
    answer = complete(client, prompt=["One two", "Three"], echo=True, logprobs=0, max_tokens=0)
    assert [choice.text for choice in answer.choices] == ["One two", "Three"]
    assert [choice.finish_reason for choice in answer.choices] == ["length", "length"]
    assert answer.usage.completion_tokens == 0
    with pytest.raises(openai.BadRequestError, match="max_tokens"):
        complete(client, max_tokens=0)


def test_a_prompts_logprobs_are_told_as_of_vllm(client):
    answer = complete(client, max_tokens=1, extra_body={"prompt_logprobs": 2})
    told = answer.choices[0].model_extra["prompt_logprobs"]
    assert told[0] is None
    for entry in told[1:]:
        assert {1, 2} <= {token["rank"] for token in entry.values()}
    chatted = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "Hi"}], max_tokens=1, extra_body={"prompt_logprobs": 0})
    assert len(chatted.model_extra["prompt_logprobs"]) == chatted.usage.prompt_tokens


def test_a_tokenizer_is_described_as_of_vllm(raw):
    info = raw.send_request("GET", "/tokenizer_info").read().json()
    assert info["eos_token"] == "<|im_end|>" and "im_start" in info["chat_template"]


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
