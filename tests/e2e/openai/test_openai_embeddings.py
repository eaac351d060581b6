"""Vectors through OpenAI's and Ollama's clients, and scores over HTTP, of the models that sentence-transformers judged."""

import array
import base64
import json
import math
from collections.abc import Iterator
from typing import Any

import ollama
import openai
import pytest

from conftest import StartServer, client_of
from raw_http import RawClient
from waiting import PATIENCE_S
from weft_server import MODEL as DEMO_MODEL
from weft_server import ROOT, WeftServer

VECTORS = ROOT / "tests/model/data/vectors"
CLOSE = 1e-4


def expected(name: str) -> list[dict[str, Any]]:
    return json.loads((VECTORS / name / "expected.json").read_text())


@pytest.fixture(scope="module")
def shared_encoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeftServer]:
    server = WeftServer(tmp_path_factory.mktemp("server"), {}, model=VECTORS / "bert-mean")
    yield server
    server.stop()


@pytest.fixture
def encoder(shared_encoder: WeftServer) -> Iterator[WeftServer]:
    """One server of an encoder for all tests, which leave nothing behind in it."""
    yield shared_encoder
    assert shared_encoder.process.poll() is None, shared_encoder.log()
    shared_encoder.wait_until_idle()
    shared_encoder.expect_clean_log()


@pytest.fixture
def bert(encoder: WeftServer) -> Iterator[openai.OpenAI]:
    with client_of(encoder) as made:
        yield made


def ask(server: WeftServer, path: str, body: dict[str, Any], status: int = 200) -> Any:
    with RawClient(server.port) as raw:
        answer = raw.post(path, body).read()
        assert answer.status == status, answer.body
        return answer.json()


def test_the_vectors_are_the_references_as_numbers_and_in_base64(bert: openai.OpenAI):
    texts = [one["text"] for one in expected("bert-mean") if len(one["tokens"]) < 20]
    for encoding in ("float", "base64", openai.NOT_GIVEN):  # the client asks for base64 by itself
        answer = bert.embeddings.create(model="bert-mean", input=texts, encoding_format=encoding)
        assert [one.index for one in answer.data] == list(range(len(texts)))
        for got, wanted in zip(answer.data, expected("bert-mean"), strict=False):
            vector = got.embedding
            if encoding == "base64":
                vector = array.array("f", base64.b64decode(vector)).tolist()
            assert vector == pytest.approx(wanted["vector"], abs=CLOSE)
        tokens = sum(len(one["tokens"]) for one in expected("bert-mean")[:len(texts)])
        assert (answer.usage.prompt_tokens, answer.usage.total_tokens) == (tokens, tokens)


def test_fewer_dimensions_have_length_one_again(bert: openai.OpenAI):
    whole = bert.embeddings.create(model="bert-mean", input="b c d e").data[0].embedding
    some = bert.embeddings.create(model="bert-mean", input="b c d e", dimensions=6).data[0].embedding
    assert math.hypot(*some) == pytest.approx(1, abs=1e-5)
    assert [x / some[0] for x in some] == pytest.approx([x / whole[0] for x in whole[:6]], abs=1e-3)


def test_a_thousand_inputs_come_back_in_their_order(bert: openai.OpenAI, encoder: WeftServer):
    words = "abcdefghijklmnopqrstuvwxyz"
    alone = {word: bert.embeddings.create(model="bert-mean", input=word).data[0].embedding for word in words[:5]}
    texts = [words[i * 7 % 26] for i in range(1000)]
    answer = bert.embeddings.create(model="bert-mean", input=texts)
    for text, got in zip(texts, answer.data, strict=True):
        if text in alone:
            assert got.embedding == alone[text], "whatever is in the batch"
    assert encoder.metric("weft_generation_tokens_total") == 0


@pytest.mark.parametrize(("body", "param"), [
    ({}, "input"), ({"input": ""}, "input"), ({"input": []}, "input"), ({"input": ["a", ""]}, "input[1]"),
    ({"input": [["a"]]}, "input[0][0]"), ({"input": 5}, "input"), ({"input": ["a"] * 10_000}, "input"),
    ({"input": [[1, 99]]}, "input[0][1]"), ({"input": "a", "dimensions": 17}, "dimensions"),
    ({"input": "a", "encoding_format": "int8"}, "encoding_format"), ({"input": "a " * 30}, None),
], ids=lambda value: str(value)[:40])
def test_a_bad_input_is_refused_by_its_name(encoder: WeftServer, body: dict[str, Any], param: str | None):
    error = ask(encoder, "/v1/embeddings", body, 400)["error"]
    assert error["param"] == param
    if param is None:
        assert error["code"] == "context_length_exceeded"
        assert "takes inputs of 20 tokens" in error["message"]


def test_an_input_that_is_too_long_is_cut_where_that_is_asked_for(encoder: WeftServer):
    answer = ask(encoder, "/v1/embeddings", {"input": "a " * 30, "truncate_prompt_tokens": -1})
    assert answer["usage"]["prompt_tokens"] == 20


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"])
def test_an_encoder_says_that_it_writes_no_text(encoder: WeftServer, path: str):
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "a"}]}
    if path == "/v1/completions":
        body = {"prompt": "a"}
    elif path == "/v1/responses":
        body = {"input": "a"}
    elif path == "/v1/messages":
        body["max_tokens"] = 5
    assert "bert-mean gives vectors and no text" in ask(encoder, path, body, 400)["error"]["message"]


def test_a_model_that_writes_text_gives_vectors_while_it_chats(server: WeftServer, client: openai.OpenAI):
    del server
    name = DEMO_MODEL.name
    got = [client.embeddings.create(model=name, input=text).data[0].embedding for text in ("What is 2 + 3?", "A story.")]
    assert math.hypot(*got[0]) == pytest.approx(1, abs=1e-4)
    assert got[0] != got[1]


def test_a_cross_encoder_ranks_documents(start_server: StartServer):
    server = start_server(model=VECTORS / "bert-reranker")
    pairs = [one for one in expected("bert-reranker") if "second" in one]
    score = {one["second"]: 1 / (1 + math.exp(-one["vector"][0])) for one in pairs}
    for one in pairs:
        answer = ask(server, "/v1/score", {"text_1": one["text"], "text_2": one["second"]})
        assert answer["data"][0]["score"] == pytest.approx(score[one["second"]], abs=CLOSE)
    for path in ("/v1/rerank", "/v2/rerank", "/rerank"):
        documents = [one["second"] for one in pairs]
        answer = ask(server, path, {"query": "a b", "documents": documents, "top_n": 2})
        scores = [one["relevance_score"] for one in answer["results"]]
        assert len(scores) == 2 and scores == sorted(scores, reverse=True)
        best = answer["results"][0]
        assert best["document"]["text"] == documents[best["index"]]
    refused = ask(server, "/v1/embeddings", {"input": "a"}, 400)["error"]
    assert (refused["param"], refused["code"]) == ("model", "unsupported")


def test_a_classifier_names_its_labels(start_server: StartServer):
    server = start_server(model=VECTORS / "roberta-classifier")
    one = expected("roberta-classifier")[0]
    answer = ask(server, "/v1/classify", {"input": one["text"]})["data"][0]
    exponents = [math.exp(x) for x in one["vector"]]
    assert answer["probs"] == pytest.approx([x / sum(exponents) for x in exponents], abs=CLOSE)
    assert answer["label"] == f"LABEL_{one['vector'].index(max(one['vector']))}"
    assert answer["num_classes"] == 3


def test_a_masked_language_model_fills_in_its_masks(start_server: StartServer):
    server = start_server(model=VECTORS / "bert-masked")
    wanted = expected("bert-masked")
    answer = ask(server, "/v1/fill-mask", {"input": [one["text"] for one in wanted], "top_k": 3})
    for one, got in zip(wanted, answer["data"], strict=True):
        for fills, found in zip(one["masks"], got["masks"], strict=True):
            assert [fill["sequence"] for fill in found] == [fill["sequence"] for fill in fills]
            assert [fill["score"] for fill in found] == pytest.approx([fill["score"] for fill in fills], abs=CLOSE)
    refused = ask(server, "/v1/fill-mask", {"input": ["a [MASK]", "a b"]}, 400)["error"]
    assert refused["param"] == "input[1]"
    refused = ask(server, "/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}]}, 400)["error"]
    assert (refused["param"], refused["code"]) == ("model", "unsupported")
    assert len(ask(server, "/v1/embeddings", {"input": "a b"})["data"][0]["embedding"]) == 16


def test_ollamas_client_gets_vectors(encoder: WeftServer):
    with ollama.Client(encoder.url, timeout=PATIENCE_S) as llama:
        wanted = expected("bert-mean")[1]
        got = llama.embed("bert-mean", ["a", wanted["text"]])
        assert got.embeddings[1] == pytest.approx(wanted["vector"], abs=CLOSE)
        assert got.prompt_eval_count == 3 + len(wanted["tokens"])
        assert llama.embeddings("bert-mean", wanted["text"]).embedding == pytest.approx(wanted["vector"], abs=CLOSE)
        assert "embedding" in llama.show("bert-mean").capabilities
        assert len(llama.embed("bert-mean", "a " * 100).embeddings) == 1, "it is cut"


def test_a_client_that_leaves_takes_its_inputs_along(start_server: StartServer):
    server = start_server(model=VECTORS / "bert-mean")
    with RawClient(server.port) as raw:
        raw.post("/v1/embeddings", {"input": ["a b c d e f g"] * 2000})
    server.wait_until_idle()


def test_a_call_is_not_refused_for_its_own_inputs(bert: openai.OpenAI):
    texts = ["word " * 3400] * 256  # more tokens than edge.max_queued_prompt_tokens, by estimate
    answer = bert.embeddings.create(model="bert-mean", input=texts, extra_body={"truncate_prompt_tokens": 4})
    assert len(answer.data) == len(texts)
    assert answer.usage.prompt_tokens == 4 * len(texts)
