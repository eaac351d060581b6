"""Models of smolagents."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from prompts import MODEL
from script_model import CALLS, calling, write_script_model
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


@smolagents.tool
def get_forecast(city: str, days: int = 1, unit: str | None = None) -> str:
    """Says what the weather will be.

    Args:
        city: where
        days: for how long
        unit: of temperatures
    """
    return f"sunny in {city} for {days} days"


# Agents with their default settings: each calls a tool, is shown what came of it, and gives its answer by another tool.
REPORT = "It is sunny in the city of Zürich."
AGENT_TEMPLATE = """{%- for m in messages %}{{ '<|turn|>' + m.role + ': ' + m.content }}{% endfor %}
{%- for tool in tools or [] %}{{ '<|turn|>' + (tool | tojson) }}{% endfor %}
{%- set seen = 'sunny' in messages[-1].content %}
{%- if tools %}{{ '<|say_answer|>' if seen else '<|say_call|>' }}
{%- else %}{{ '<|say_last_code|>' if seen else '<|say_code|>' }}
{%- endif %}{# thoughts stand in <think> and </think>, calls in <tool_call> #}"""
AGENT_TEXTS = {
    "<|say_call|>": calling("get_forecast", {"city": "Zürich", "days": 2, "unit": None}),
    "<|say_answer|>": calling("final_answer", {"answer": REPORT}),
    "<|say_code|>": ['Thought: I shall ask.\n<code>\nprint(get_forecast("Zürich", 2))\n</code>'],
    "<|say_last_code|>": [f'Thought: that is all.\n<code>\nfinal_answer("{REPORT}")\n</code>'],
}


@pytest.fixture(scope="module")
def agent_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeftServer]:
    model = write_script_model(tmp_path_factory.mktemp("agent") / MODEL, AGENT_TEXTS, AGENT_TEMPLATE, context=1 << 15,
                               tags=False)
    # It goes on behind its own tokens alone. Few rows, since each has room for a whole context.
    server = WeftServer(tmp_path_factory.mktemp("server"),
                        {"scheduling": {"jump_ahead": False}, "memory": {"max_rows": 4}}, model=model)
    yield server
    server.wait_until_idle()
    server.stop()
    server.expect_clean_log()


@pytest.mark.parametrize("kind", ["ToolCallingAgent", "CodeAgent"])
def test_an_agent_calls_its_tool_and_answers(agent_server: WeftServer, kind: str) -> None:
    agent = getattr(smolagents, kind)(tools=[get_forecast], model=model_on(agent_server), max_steps=4, verbosity_level=0)
    assert agent.run("What is the weather in Zürich?") == REPORT
    assert len(agent.memory.steps) == 3, "the task and two steps"
