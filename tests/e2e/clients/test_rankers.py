"""Clients of other makers' rankers and embedders, with their default settings: Cohere's, Voyage's, and those of Haystack and LangChain."""

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import StartServer
from raw_http import RawClient
from weft_server import ROOT, WeftServer

VECTORS = ROOT / "tests/model/data/vectors"
QUERY = "a b"
DOCUMENTS = ["c d e", "a b", "f g h i"]

pytestmark = pytest.mark.filterwarnings("ignore")  # their own


@pytest.fixture
def reranker(start_server: StartServer) -> WeftServer:
    return start_server(model=VECTORS / "bert-reranker")


@pytest.fixture
def encoder(start_server: StartServer) -> WeftServer:
    return start_server(model=VECTORS / "bert-mean")


def ask(server: WeftServer, path: str, body: dict[str, Any]) -> Any:
    with RawClient(server.port) as raw:
        answer = raw.post(path, body).read()
        assert answer.status == 200, answer.body
        return answer.json()


def ranked(server: WeftServer) -> list[tuple[int, float]]:
    """Index and score of each document, the best first, as /v1/score judges them one by one."""
    scores = ask(server, "/v1/score", {"text_1": QUERY, "text_2": DOCUMENTS})["data"]
    return sorted(((one["index"], pytest.approx(one["score"], abs=1e-6)) for one in scores),
                  key=lambda one: -one[1].expected)


@pytest.fixture
def cohere_client(reranker: WeftServer) -> Iterator[Any]:
    cohere = pytest.importorskip("cohere")
    with cohere.ClientV2(api_key="none", base_url=reranker.url) as client:
        yield client


def test_coheres_client_ranks(reranker: WeftServer, cohere_client: Any):
    answer = cohere_client.rerank(model="bert-reranker", query=QUERY, documents=DOCUMENTS, max_tokens_per_doc=4096)
    assert [(one.index, one.relevance_score) for one in answer.results] == ranked(reranker)
    best = cohere_client.rerank(model="bert-reranker", query=QUERY, documents=DOCUMENTS, top_n=1)
    assert [one.index for one in best.results] == [ranked(reranker)[0][0]]


def test_a_document_is_cut_to_its_tokens(reranker: WeftServer, cohere_client: Any):
    def score(document: str, **options: Any) -> float:
        answer = cohere_client.rerank(model="bert-reranker", query=QUERY, documents=[document], **options)
        return answer.results[0].relevance_score

    assert score("c d e f", max_tokens_per_doc=2) == score("c d") != score("c d e f")


def test_coheres_older_client_ranks_by_fields(reranker: WeftServer):
    cohere = pytest.importorskip("cohere")
    with cohere.Client(api_key="none", base_url=reranker.url) as client:
        answer = client.rerank(model="bert-reranker", query=QUERY, max_chunks_per_doc=10, rank_fields=["title"],
                               documents=[{"title": text, "other": "z"} for text in DOCUMENTS], return_documents=True)
    assert [(one.index, one.relevance_score) for one in answer.results] == ranked(reranker)


def test_haystacks_rankers_rank(reranker: WeftServer):
    pytest.importorskip("haystack")
    from haystack import Document
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.cohere import CohereRanker
    from haystack_integrations.components.rankers.jina import JinaRanker

    documents = [Document(content=text) for text in DOCUMENTS]
    key = Secret.from_token("none")
    rankers = [CohereRanker(api_key=key, api_base_url=reranker.url),
               JinaRanker(model="bert-reranker", api_key=key, base_url=f"{reranker.url}/v1/rerank")]
    rankers[0].model_name = "bert-reranker"
    for ranker in rankers:
        if hasattr(ranker, "warm_up"):
            ranker.warm_up()
        found = ranker.run(query=QUERY, documents=documents)["documents"]
        assert [(DOCUMENTS.index(one.content), one.score) for one in found] == ranked(reranker)


def test_haystacks_embedders_embed(encoder: WeftServer):
    pytest.importorskip("haystack")
    from haystack.utils import Secret
    from haystack_integrations.components.embedders.jina import JinaTextEmbedder

    embedder = JinaTextEmbedder(api_key=Secret.from_token("none"), model="bert-mean", task="retrieval.query",
                                late_chunking=False, base_url=f"{encoder.url}/v1/embeddings")
    wanted = ask(encoder, "/v1/embeddings", {"input": "a b"})["data"][0]["embedding"]
    assert embedder.run("a b")["embedding"] == pytest.approx(wanted)


def test_langchains_ranker_of_cohere_ranks(reranker: WeftServer):
    langchain_cohere = pytest.importorskip("langchain_cohere")
    ranker = langchain_cohere.CohereRerank(model="bert-reranker", cohere_api_key="none", base_url=reranker.url)
    found = ranker.rerank(DOCUMENTS, QUERY)
    assert [(one["index"], one["relevance_score"]) for one in found] == ranked(reranker)


def test_voyages_client_ranks_and_embeds(reranker: WeftServer, encoder: WeftServer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        voyageai = pytest.importorskip("voyageai")

    client = voyageai.Client(api_key="none", base_url=f"{reranker.url}/v1")
    answer = client.rerank(QUERY, DOCUMENTS, model="bert-reranker")
    assert [(one.index, one.relevance_score) for one in answer.results] == ranked(reranker)
    assert [one.document for one in answer.results] == [DOCUMENTS[index] for index, _ in ranked(reranker)]

    client = voyageai.Client(api_key="none", base_url=f"{encoder.url}/v1")
    wanted = ask(encoder, "/v1/embeddings", {"input": ["a b"]})["data"][0]["embedding"]
    assert client.embed(["a b"], model="bert-mean", input_type="query").embeddings[0] == pytest.approx(wanted, abs=1e-6)
    bits = client.embed(["a b"], model="bert-mean", output_dtype="ubinary").embeddings[0]
    assert json.loads(json.dumps([int(byte) for byte in bits])) == [
        sum((wanted[i * 8 + bit] > 0) << (7 - bit) for bit in range(8)) for i in range(len(wanted) // 8)]
