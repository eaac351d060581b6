"""Tools and thoughts with Ollama's client, on a model that calls them."""

from collections.abc import Iterator
from typing import Any

import ollama
import pytest

from script_model import write_script_model
from waiting import PATIENCE_S
from weft_server import WeftServer

MODEL = "model"
QUESTION: Any = {"role": "user", "content": "What is the weather?"}
CALLS = [("get_weather", {"city": "Zürich", "days": 2}), ("get_time", {"zone": "CET"})]
THOUGHT, REMARK, ANSWER = "The weather is asked for.", "One moment.", "It is sunny in the city, I am told."


def get_weather(city: str, days: int) -> str:
    """Says the weather.

    Args:
        city: where
        days: for how long
    """
    return f"sunny in {city} for {days} days"


def get_time(zone: str) -> str:
    """Says the time.

    Args:
        zone: where
    """
    return f"noon {zone}"


TOOLS = {"get_weather": get_weather, "get_time": get_time}


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ollama.Client]:
    model = write_script_model(tmp_path_factory.mktemp("script") / MODEL)
    server = WeftServer(tmp_path_factory.mktemp("server"), {}, model=model)
    with ollama.Client(server.url, timeout=PATIENCE_S) as client:
        yield client
    server.wait_until_idle()
    server.stop()


def ask(client: ollama.Client, *messages: Any, **options: Any) -> Any:
    return client.chat(**{"model": MODEL, "messages": [QUESTION, *messages], "tools": list(TOOLS.values()), **options})


def calls_of(message: ollama.Message) -> list[tuple[str, Any]]:
    return [(call.function.name, call.function.arguments) for call in message.tool_calls or []]


def test_thoughts_and_calls_stand_beside_the_text(llama):
    answer = ask(llama)
    assert (answer.message.thinking, answer.message.content) == (THOUGHT, REMARK)
    assert calls_of(answer.message) == CALLS
    assert answer.done_reason == "stop"


def test_a_stream_brings_the_same_and_each_call_whole(llama):
    pieces = [piece.message for piece in ask(llama, stream=True)]
    assert "".join(piece.thinking or "" for piece in pieces) == THOUGHT
    assert "".join(piece.content or "" for piece in pieces) == REMARK
    assert [call for piece in pieces for call in calls_of(piece)] == CALLS
    assert len(pieces) > 5


def test_the_results_lead_to_an_answer(llama):
    message = ask(llama).message
    results = [{"role": "tool", "tool_name": name, "content": TOOLS[name](**arguments)} for name, arguments in calls_of(message)]
    answer = ask(llama, message, *results)
    assert (answer.message.content, calls_of(answer.message)) == (ANSWER, [])


def test_a_prompt_is_answered_without_tools(llama):
    assert llama.generate(MODEL, "Hello").response == "Hello! What shall I look up?"


def test_whether_it_thinks_is_told_to_the_template(llama):
    lengths = [ask(llama, think=think).prompt_eval_count for think in (None, True, False, "high")]
    assert lengths[0] < lengths[1] == lengths[2] - 1 == lengths[3]


def test_it_is_shown_what_the_model_can_do(llama):
    assert set(llama.show(MODEL).capabilities) == {"completion", "tools", "thinking"}
