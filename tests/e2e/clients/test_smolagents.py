"""Models of smolagents."""

import json
from typing import Any

import pytest

from prompts import MODEL
from script_model import CALLS
from weft_server import WeftServer

smolagents = pytest.importorskip("smolagents")


def model_on(server: WeftServer, **options: Any) -> Any:
    return smolagents.OpenAIModel(model_id=MODEL, api_base=server.url + "/v1", api_key="none", **options)


@smolagents.tool
def get_weather(city: str, days: int) -> str:
    """Says the weather.

    Args:
        city: where
        days: for how long
    """
    return "sunny"


@smolagents.tool
def get_time(zone: str) -> str:
    """Says the time.

    Args:
        zone: where
    """
    return "noon"


QUESTION = [{"role": "user", "content": [{"type": "text", "text": "What is the weather?"}]}]


def test_calls_of_tools_are_read(script_server):
    answer = model_on(script_server).generate(QUESTION, tools_to_call_from=[get_weather, get_time], tool_choice="auto")
    assert [(call.function.name, json.loads(call.function.arguments)) for call in answer.tool_calls] == CALLS


def test_a_text_ends_where_an_agent_wants_it_to(server):
    model = model_on(server, temperature=0, max_tokens=64)
    whole = model.generate(QUESTION).content
    assert model.generate(QUESTION, stop_sequences=[whole[4:8]]).content == whole[:4]
    assert "".join(piece.content or "" for piece in model.generate_stream(QUESTION)) == whole
