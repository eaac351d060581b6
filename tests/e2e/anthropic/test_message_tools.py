"""Tools and thoughts with Anthropic's client, on a model that calls them."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from script_model import ANSWER, CALLS, REMARK, THOUGHT
from waiting import PATIENCE_S
from weft_server import WeftServer

MODEL = "model"
QUESTION: Any = {"role": "user", "content": "What is the weather?"}
TOOLS: Any = [
    {"name": "get_weather", "description": "Says the weather.",
     "input_schema": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "get_time", "input_schema": {"type": "object", "properties": {"zone": {"type": "string"}}}}]
RESULTS = {"get_weather": "sunny", "get_time": "noon"}


@pytest.fixture
def claude(script_server: WeftServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=script_server.url, api_key="none", max_retries=0, timeout=PATIENCE_S) as made:
        yield made


def ask(client: anthropic.Anthropic, *messages: Any, **options: Any) -> Any:
    return client.messages.create(**{"model": MODEL, "max_tokens": 500, "messages": [QUESTION, *messages], "tools": TOOLS,
                                     **options})


def calls_of(message: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def test_thoughts_text_and_calls_are_blocks(claude):
    message = ask(claude)
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert (message.content[0].thinking, message.content[1].text) == (THOUGHT, REMARK)
    assert calls_of(message) == CALLS
    assert message.stop_reason == "tool_use"
    assert 0 < message.usage.output_tokens_details.thinking_tokens < message.usage.output_tokens


def test_a_stream_brings_the_same_piece_by_piece(claude):
    whole = ask(claude)
    with claude.messages.stream(model=MODEL, max_tokens=500, messages=[QUESTION], tools=TOOLS) as stream:
        kinds = [(event.type, event.delta.type) for event in stream if event.type == "content_block_delta"]
        message = stream.get_final_message()
    said = [(block.type, block.model_dump(exclude={"id", "parsed_output"})) for block in message.content]
    assert said == [(block.type, block.model_dump(exclude={"id"})) for block in whole.content]
    assert (message.stop_reason, message.usage.output_tokens) == ("tool_use", whole.usage.output_tokens)
    deltas = [delta for _, delta in kinds]
    assert deltas == sorted(deltas, key=["thinking_delta", "text_delta", "input_json_delta"].index)
    assert deltas.count("input_json_delta") > 4, "arguments came in pieces"


def test_the_results_lead_to_an_answer(claude):
    message = ask(claude)
    results = [{"type": "tool_result", "tool_use_id": block.id, "content": RESULTS[block.name]}
               for block in message.content if block.type == "tool_use"]
    answer = ask(claude, message.to_param(), {"role": "user", "content": results})
    assert [block.text for block in answer.content] == [ANSWER]
    assert answer.stop_reason == "end_turn"


def test_the_clients_own_tool_runner_comes_to_the_answer(claude):
    asked: list[tuple[str, Any]] = []

    @anthropic.beta_tool
    def get_weather(city: str, days: int) -> str:
        """Says the weather.

        Args:
            city: where
            days: for how long
        """
        asked.append(("get_weather", {"city": city, "days": days}))
        return "sunny"

    @anthropic.beta_tool
    def get_time(zone: str) -> str:
        """Says the time.

        Args:
            zone: where
        """
        asked.append(("get_time", {"zone": zone}))
        return "noon"

    runner = claude.beta.messages.tool_runner(model=MODEL, max_tokens=500, messages=[QUESTION],
                                              tools=[get_weather, get_time])
    assert runner.until_done().content[0].text == ANSWER
    assert asked == CALLS


def test_one_call_at_a_time_where_that_is_asked_for(claude):
    message = ask(claude, tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    assert calls_of(message) == CALLS[:1]
    assert message.stop_reason == "tool_use"


def test_without_a_choice_the_model_knows_of_no_tools(claude):
    message = ask(claude, tool_choice={"type": "none"})
    assert [block.text for block in message.content] == ["Hello! What shall I look up?"]


def test_a_call_can_be_required(claude):
    message = ask(claude, tool_choice={"type": "any", "disable_parallel_tool_use": True})
    assert [block.type for block in message.content] == ["thinking", "tool_use"]
    assert calls_of(message) == CALLS[:1]
    assert message.stop_reason == "tool_use"


def test_a_call_of_a_certain_tool_can_be_required(claude):
    clock = {"name": "get_time", "input_schema": {
        "type": "object", "properties": {"zone": {"enum": ["CET", "UTC"]}}, "required": ["zone"]}}
    message = ask(claude, tools=[TOOLS[0], clock], max_tokens=400,
                  tool_choice={"type": "tool", "name": "get_time", "disable_parallel_tool_use": True})
    (name, arguments), = calls_of(message)
    assert name == "get_time" and arguments["zone"] in ("CET", "UTC")


def test_thoughts_end_with_their_budget(claude):
    message = ask(claude, thinking={"type": "enabled", "budget_tokens": 3})
    whole = ask(claude).content[0].thinking
    assert message.content[0].type == "thinking"
    assert whole.startswith(message.content[0].thinking) and len(message.content[0].thinking) < len(whole)
    assert calls_of(message) == CALLS


def test_thoughts_can_be_left_out(claude):
    message = ask(claude, thinking={"type": "adaptive", "display": "omitted"})
    assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]


def test_whether_it_thinks_is_told_to_the_template(claude):
    def tokens(**options: Any) -> int:
        return claude.messages.count_tokens(model=MODEL, messages=[QUESTION], **options).input_tokens

    assert tokens(thinking={"type": "disabled"}) > tokens()
    assert tokens(thinking={"type": "enabled", "budget_tokens": 1024}) == tokens(thinking={"type": "disabled"}) - 1
    assert tokens(tools=TOOLS) > tokens() + 50


@pytest.mark.parametrize(("field", "options"), [
    ("tool_choice", {"tool_choice": {"type": "tool", "name": "get_news"}}),
    ("tools[0].input_schema.not", {"tool_choice": {"type": "any"},
                                   "tools": [{**TOOLS[0], "strict": True,
                                              "input_schema": {"type": "object", "not": {}}}]}),
    ("tool_choice", {"tools": [{"type": "bash_20250124", "name": "bash"}], "tool_choice": {"type": "any"}}),
    ("tools[1]", {"tools": [TOOLS[0], TOOLS[0]]}),
    ("thinking.budget_tokens", {"thinking": {"type": "enabled", "budget_tokens": -1}}),
])
def test_what_is_wrong_with_tools_is_a_bad_request_that_names_its_field(claude, field, options):
    with pytest.raises(anthropic.BadRequestError) as caught:
        ask(claude, **options)
    assert caught.value.body["error"]["message"].startswith(field + ": ")
