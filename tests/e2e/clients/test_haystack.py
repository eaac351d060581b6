"""Haystack's rankers, of Cohere's and of Jina's API."""

import json
import os
from typing import Any

import pytest

from conftest import StartServer
from weft_server import ROOT

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
cohere = pytest.importorskip("haystack_integrations.components.rankers.cohere")
jina = pytest.importorskip("haystack_integrations.components.rankers.jina")

MODEL = ROOT / "tests/model/data/vectors/bert-reranker"


def ranker_on(url: str, api: str, **options: Any) -> Any:
    from haystack.utils import Secret

    key = Secret.from_token("none")
    if api == "cohere":
        return cohere.CohereRanker(model=MODEL.name, api_base_url=url, api_key=key, **options)
    return jina.JinaRanker(model=MODEL.name, base_url=url + "/v1/rerank", api_key=key, **options)


@pytest.mark.parametrize("api", ["cohere", "jina"])
def test_documents_come_in_the_order_of_their_scores(start_server: StartServer, api: str) -> None:
    from haystack import Document

    pairs = [one for one in json.loads((MODEL / "expected.json").read_text()) if "second" in one]
    query = pairs[0]["text"]
    server = start_server(model=MODEL)
    documents = [Document(content=one["second"]) for one in pairs]
    ranked = ranker_on(server.url, api).run(query=query, documents=documents)["documents"]
    scores = [document.score for document in ranked]
    assert sorted(document.content for document in ranked) == sorted(document.content for document in documents)
    assert scores == sorted(scores, reverse=True) and len(set(scores)) > 1
    best = ranker_on(server.url, api, top_k=1).run(query=query, documents=documents)["documents"]
    assert [document.content for document in best] == [ranked[0].content]
