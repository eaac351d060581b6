"""Ollama's API through Ollama's client."""

import json
import math
from collections.abc import Iterator
from typing import Any

import ollama
import pytest

from conftest import StartServer
from prompts import MODEL, QUESTION, STORY
from raw_http import RawClient
from waiting import PATIENCE_S, eventually
from weft_server import WeftServer

GREEDY = {"temperature": 0, "num_predict": 24}
ENDLESS = {"num_predict": 900, "temperature": 1.0, "ignore_eos": True}


def ollama_client(server: WeftServer, **options: Any) -> ollama.Client:
    return ollama.Client(server.url, **{"timeout": PATIENCE_S, **options})


@pytest.fixture
def llama(server: WeftServer) -> Iterator[ollama.Client]:
    with ollama_client(server) as made:
        yield made


def test_a_chat_answers_in_text_and_says_what_it_took(llama, client):
    answer = llama.chat(MODEL, QUESTION, options=GREEDY)
    said = client.chat.completions.create(model=MODEL, messages=QUESTION, max_tokens=24, temperature=0)
    assert answer.message.role == "assistant"
    assert answer.message.content == said.choices[0].message.content
    assert (answer.model, answer.done, answer.done_reason) == (MODEL, True, "stop")
    assert (answer.prompt_eval_count, answer.eval_count) == (said.usage.prompt_tokens, said.usage.completion_tokens)
    parts = answer.load_duration + answer.prompt_eval_duration + answer.eval_duration
    assert min(answer.load_duration, answer.prompt_eval_duration, answer.eval_duration) > 0
    assert answer.total_duration == parts > 100_000, "nanoseconds"


def test_the_pieces_of_a_stream_are_the_answer_that_comes_whole(llama):
    whole = llama.chat(MODEL, QUESTION, options=GREEDY)
    *pieces, last = llama.chat(MODEL, QUESTION, options=GREEDY, stream=True)
    assert "".join(piece.message.content for piece in pieces) + last.message.content == whole.message.content
    assert len(pieces) > 5, "it came in pieces"
    assert not any(piece.done for piece in pieces)
    assert (last.done, last.done_reason, last.eval_count) == (True, "stop", whole.eval_count)


def test_a_prompt_is_answered_like_a_chat_of_one_message(llama):
    said = llama.chat(MODEL, QUESTION, options=GREEDY).message.content
    assert llama.generate(MODEL, "What is Weft?", options=GREEDY).response == said
    pieces = llama.generate(MODEL + ":latest", "What is Weft?", options=GREEDY, stream=True)
    assert "".join(piece.response for piece in pieces) == said
    system = [{"role": "system", "content": "Be short."}]
    assert (llama.generate(MODEL, "What is Weft?", system="Be short.", options=GREEDY).response
            == llama.chat(MODEL, system + QUESTION, options=GREEDY).message.content)


def test_a_raw_prompt_is_continued_as_a_text_completion(llama, client):
    continued = llama.generate(MODEL, "Weft is", raw=True, options=GREEDY)
    completion = client.completions.create(model=MODEL, prompt="Weft is", max_tokens=24, temperature=0)
    assert continued.response == completion.choices[0].text
    assert continued.prompt_eval_count == completion.usage.prompt_tokens


def test_options_do_what_they_say(llama):
    assert llama.chat(MODEL, QUESTION, options={**GREEDY, "num_predict": 3}).done_reason == "length"
    whole = llama.chat(MODEL, QUESTION, options=GREEDY).message.content
    word = whole.split()[3]
    stopped = llama.chat(MODEL, QUESTION, options={**GREEDY, "stop": [word]})
    assert (stopped.message.content, stopped.done_reason) == (whole[:whole.index(word)], "stop")
    texts = [llama.chat(MODEL, STORY, options={"temperature": 2.0, "num_predict": 24, "seed": seed}).message.content
             for seed in (1, 1, 2, 3)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1
    loops = {"temperature": 0, "num_predict": 60, "ignore_eos": True}
    plain = llama.chat(MODEL, STORY, options=loops).message.content
    assert llama.chat(MODEL, STORY, options={**loops, "repeat_penalty": 5.0}).message.content != plain
    assert llama.chat(MODEL, STORY, options={**loops, "repeat_penalty": 5.0, "repeat_last_n": 0}).message.content == plain


def test_the_options_of_the_client_are_all_known(llama):
    """All that the client's type has, with Ollama's own defaults where it has one."""
    options = ollama.Options(
        numa=False, num_ctx=2048, num_batch=512, num_gpu=-1, main_gpu=0, low_vram=False, f16_kv=True, logits_all=False,
        vocab_only=False, use_mmap=True, use_mlock=False, embedding_only=False, num_thread=2, num_keep=4, seed=-1,
        num_predict=3, top_k=40, top_p=0.9, tfs_z=1.0, typical_p=1.0, repeat_last_n=64, temperature=0.8, repeat_penalty=1.1,
        presence_penalty=0.0, frequency_penalty=0.0, mirostat=0, mirostat_tau=5.0, mirostat_eta=0.1, penalize_newline=True,
        stop=["never said"])
    assert set(ollama.Options.model_fields) == {name for name, value in options if value is not None}
    assert llama.chat(MODEL, QUESTION, options=options, keep_alive="5m").eval_count <= 3


def test_logprobs_stand_beside_their_tokens(llama):
    answer = llama.generate(MODEL, "What is Weft?", logprobs=True, top_logprobs=2, options={**GREEDY, "num_predict": 4})
    assert "".join(each.token for each in answer.logprobs) == answer.response
    for each in answer.logprobs:
        assert math.isclose(each.logprob, each.top_logprobs[0].logprob, abs_tol=1e-4), "the most probable was taken"
        assert len(each.top_logprobs) == 2


def test_the_models_are_listed_and_shown(llama, server):
    (model,) = llama.list().models
    assert model.model == MODEL + ":latest"
    assert model.size > 1_000_000
    assert len(model.digest) == 64
    (loaded,) = llama.ps().models
    assert (loaded.name, loaded.context_length, loaded.digest) == (model.model, 1024, model.digest)
    shown = llama.show(model.model)
    assert shown.modelinfo[shown.modelinfo["general.architecture"] + ".context_length"] == 1024
    assert shown.details == model.details
    assert "completion" in shown.capabilities
    assert "<|im_start|>" in shown.template
    assert int(server.get("/api/version")["version"].split(".")[1]) >= 12


def test_a_model_is_loaded_by_asking_nothing(llama):
    for keep_alive, reason in ((None, "load"), (-1, "load"), (0, "unload")):
        assert llama.generate(MODEL, keep_alive=keep_alive).done_reason == reason
        assert llama.chat(MODEL, keep_alive=keep_alive).done_reason == reason


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_wrong_is_told_in_words(llama, stream):
    def refusal(**fields: Any) -> ollama.ResponseError:
        with pytest.raises(ollama.ResponseError) as caught:
            answer = llama.chat(**{"model": MODEL, "messages": QUESTION, "stream": stream, **fields})
            list(answer)
        return caught.value

    assert (refusal(model="elsewhere").error, refusal(model="elsewhere").status_code) == ('model "elsewhere" not found', 404)
    assert refusal(options={"temperature": -1}).error.startswith("temperature")
    assert "options.temperatur" in refusal(options={"temperatur": 1}).error
    assert refusal(format={"not": {}}).error.startswith("format")
    assert refusal(messages=[{"role": "user", "content": "a", "images": [b"\x89PNG"]}]).error.startswith("messages[0].images: ")
    too_long = refusal(messages=[{"role": "user", "content": "word " * 5000}])
    assert (too_long.status_code, "1024 tokens" in too_long.error) == (400, True)


def test_an_answer_has_the_form_that_is_asked_for(llama):
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    answer = llama.chat(MODEL, messages=QUESTION, format=schema)
    assert list(json.loads(answer.message.content)) == ["sum"]


def test_what_there_is_not_is_not_found(llama):
    with pytest.raises(ollama.ResponseError) as caught:
        llama.pull("another")
    assert (caught.value.status_code, caught.value.error) == (404, "there is no such path")


def test_a_key_is_a_bearers(start_server: StartServer):
    server = start_server(auth={"api_key": "sk-the-right-one"})
    with ollama_client(server, headers={"Authorization": "Bearer sk-the-right-one"}) as client:
        assert client.list().models
    with ollama_client(server) as client, pytest.raises(ollama.ResponseError) as caught:
        client.list()
    assert caught.value.status_code == 401


def test_a_full_queue_is_told_with_429(start_server: StartServer):
    server = start_server(edge={"max_queued_requests": 1})
    with ollama_client(server) as client:
        running = client.chat(MODEL, STORY, options=ENDLESS, stream=True)
        next(running)
        with pytest.raises(ollama.ResponseError) as caught:
            client.chat(MODEL, QUESTION)
        assert caught.value.status_code == 429
        assert "overloaded" in caught.value.error
        running.close()
        eventually(server.is_idle, "the one that ran is gone")
        assert client.chat(MODEL, QUESTION, options=GREEDY).done


def test_a_stream_that_is_closed_is_gone(server, llama):
    stream = llama.generate(MODEL, "Tell me a story.", options=ENDLESS, stream=True)
    next(stream)
    assert [entry["path"] for entry in server.running()] == ["/api/generate"]
    stream.close()
    eventually(lambda: not server.running(), "the request is gone")


def test_a_failure_in_the_middle_of_a_stream_is_its_last_line(server):
    body = {"model": MODEL, "messages": STORY, "options": ENDLESS}
    with RawClient(server.port) as raw:
        answer = raw.read_cut_stream("/api/chat", body)
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = answer.body.decode().splitlines()
    assert json.loads(lines[0])["done"] is False
    assert list(json.loads(lines[-1])) == ["error"]
