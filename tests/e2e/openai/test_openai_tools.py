"""Tools and thoughts with OpenAI's client, on a model that calls them."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from conftest import client_of
from script_model import ANSWER, REMARK, THOUGHT
from weft_server import WeftServer

MODEL = "model"
QUESTION: dict[str, Any] = {"role": "user", "content": "What is the weather?"}


def function(name: str, **properties: str) -> dict[str, Any]:
    return {"name": name, "description": f"Says the {name}.",
            "parameters": {"type": "object", "properties": {key: {"type": of} for key, of in properties.items()}}}


FUNCTIONS = [function("get_weather", city="string", days="integer"), function("get_time", zone="string")]
CHAT_TOOLS: Any = [{"type": "function", "function": one} for one in FUNCTIONS]
RESPONSE_TOOLS: Any = [{"type": "function", **one} for one in FUNCTIONS]
CALLS = [("get_weather", '{"city": "Zürich", "days": 2}'), ("get_time", '{"zone":"CET"}')]
RESULTS = {"get_weather": "sunny", "get_time": "noon"}


@pytest.fixture
def tool_client(script_server: WeftServer) -> Iterator[openai.OpenAI]:
    with client_of(script_server) as made:
        yield made


def ask(client: openai.OpenAI, *messages: Any, **options: Any) -> Any:
    return client.chat.completions.create(**{"model": MODEL, "messages": [QUESTION, *messages], "tools": CHAT_TOOLS,
                                             **options})


def calls_of(message: Any) -> list[tuple[str, str]]:
    return [(call.function.name, call.function.arguments) for call in message.tool_calls]


def test_calls_and_thoughts_stand_beside_the_text(tool_client: openai.OpenAI) -> None:
    answer = ask(tool_client)
    message = answer.choices[0].message
    assert message.content == REMARK
    assert message.reasoning_content == THOUGHT
    assert calls_of(message) == CALLS
    assert len({call.id for call in message.tool_calls}) == 2
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.usage.completion_tokens_details.reasoning_tokens > 0


def test_the_results_lead_to_an_answer(tool_client: openai.OpenAI) -> None:
    message = ask(tool_client).choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": RESULTS[call.function.name]}
               for call in message.tool_calls]
    answer = ask(tool_client, message, *results)
    assert answer.choices[0].message.content == ANSWER
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].finish_reason == "stop"


def test_a_stream_brings_the_same_piece_by_piece(tool_client: openai.OpenAI) -> None:
    text, thought, finish = "", "", None
    calls: dict[int, dict[str, str]] = {}
    for chunk in ask(tool_client, stream=True):
        delta = chunk.choices[0].delta
        text += delta.content or ""
        thought += getattr(delta, "reasoning_content", None) or ""
        for call in delta.tool_calls or []:
            if call.id:
                assert call.type == "function" and call.index == len(calls)
                calls[call.index] = {"id": call.id, "name": call.function.name, "arguments": ""}
            calls[call.index]["arguments"] += call.function.arguments
        finish = chunk.choices[0].finish_reason or finish
    assert (text, thought, finish) == (REMARK, THOUGHT, "tool_calls")
    assert [(call["name"], call["arguments"]) for call in calls.values()] == CALLS


def test_the_clients_own_helper_puts_a_stream_together(tool_client: openai.OpenAI) -> None:
    with tool_client.chat.completions.stream(model=MODEL, messages=[QUESTION], tools=CHAT_TOOLS) as stream:
        kinds = [event.type for event in stream]
    completion = stream.get_final_completion()
    assert calls_of(completion.choices[0].message) == CALLS
    assert "tool_calls.function.arguments.delta" in kinds and "tool_calls.function.arguments.done" in kinds


def test_one_call_at_a_time_where_that_is_asked_for(tool_client: openai.OpenAI) -> None:
    answer = ask(tool_client, parallel_tool_calls=False)
    assert calls_of(answer.choices[0].message) == CALLS[:1]
    assert answer.choices[0].finish_reason == "tool_calls"


def test_without_a_choice_the_model_knows_of_no_tools(tool_client: openai.OpenAI) -> None:
    answer = ask(tool_client, tool_choice="none")
    assert answer.choices[0].message.content == "Hello! What shall I look up?"
    assert answer.choices[0].message.tool_calls is None


def test_a_call_can_be_required(tool_client: openai.OpenAI) -> None:
    answer = ask(tool_client, tool_choice="required", parallel_tool_calls=False)
    message = answer.choices[0].message
    assert message.content is None
    assert message.reasoning_content == THOUGHT
    assert calls_of(message) == CALLS[:1]
    assert answer.choices[0].finish_reason == "tool_calls"


CLOCK: Any = {"type": "function", "function": {"name": "get_time", "parameters": {
    "type": "object", "properties": {"zone": {"enum": ["CET", "UTC"]}, "exact": {"type": "boolean"}},
    "required": ["zone", "exact"]}}}


@pytest.mark.parametrize("choice", [
    {"type": "function", "function": {"name": "get_time"}},
    {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
        {"type": "function", "function": {"name": "get_time"}}]}},
])
def test_a_call_of_a_certain_function_can_be_required(tool_client: openai.OpenAI, choice: Any) -> None:
    answer = ask(tool_client, tools=[CHAT_TOOLS[0], CLOCK], tool_choice=choice, parallel_tool_calls=False,
                 max_tokens=400)
    (name, arguments), = calls_of(answer.choices[0].message)
    assert name == "get_time"
    assert json.loads(arguments) in [{"zone": zone, "exact": exact}
                                     for zone in ("CET", "UTC") for exact in (True, False)]
    assert answer.choices[0].finish_reason == "tool_calls"


def test_calls_of_a_strict_function_follow_its_schema(tool_client: openai.OpenAI) -> None:
    # The model would write 2 days; where it is free to write text it does.
    strict = {"type": "function", "function": {"name": "get_weather", "strict": True, "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}, "days": {"enum": [7]}},
        "required": ["city", "days"], "additionalProperties": False}}}
    answer = ask(tool_client, tools=[strict], parallel_tool_calls=False)
    message = answer.choices[0].message
    assert message.content == REMARK
    assert json.loads(message.tool_calls[0].function.arguments) == {"city": "Zürich", "days": 7}


def test_an_answer_of_a_schema_comes_behind_thoughts(tool_client: openai.OpenAI) -> None:
    schema = {"type": "object", "properties": {"sky": {"enum": ["blue", "grey"]}}, "required": ["sky"],
              "additionalProperties": False}
    answer = ask(tool_client, response_format={"type": "json_schema", "json_schema": {"name": "sky", "schema": schema}},
                 temperature=0, max_tokens=400)
    message = answer.choices[0].message
    assert message.reasoning_content == THOUGHT
    assert json.loads(message.content)["sky"] in ("blue", "grey")
    assert message.tool_calls is None


@pytest.mark.parametrize("field", ["thinking_token_budget", "thinking_budget"])
def test_thoughts_end_with_their_budget(tool_client: openai.OpenAI, field: str) -> None:
    answer = ask(tool_client, extra_body={field: 3})
    message = answer.choices[0].message
    assert THOUGHT.startswith(message.reasoning_content) and message.reasoning_content != THOUGHT
    assert message.content == REMARK
    assert calls_of(message) == CALLS
    assert answer.usage.completion_tokens_details.reasoning_tokens < 8


@pytest.mark.parametrize(("field", "options"), [
    ("tool_choice", {"tool_choice": "required", "tools": []}),
    ("tool_choice", {"tool_choice": {"type": "function", "function": {"name": "get_news"}}}),
    ("tools[0].function.parameters.not", {"tool_choice": "required", "tools": [{"type": "function", "function": {
        "name": "f", "strict": True, "parameters": {"type": "object", "not": {}}}}]}),
])
def test_what_cannot_be_forced_is_refused_by_name(tool_client: openai.OpenAI, field: str, options: Any) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        ask(tool_client, **options)
    assert refused.value.param == field


def test_an_output_that_is_cut_says_so(tool_client: openai.OpenAI) -> None:
    answer = ask(tool_client, max_tokens=30)
    call = answer.choices[0].message.tool_calls[0].function
    assert answer.choices[0].finish_reason == "length"
    assert CALLS[0][1].startswith(call.arguments) and call.arguments != CALLS[0][1]


def respond(client: openai.OpenAI, **options: Any) -> Any:
    return client.responses.create(**{"model": MODEL, "input": "What is the weather?", "tools": RESPONSE_TOOLS,
                                      **options})


def expect_calls(response: Any) -> None:
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call", "function_call"]
    assert response.output[0].content[0].text == THOUGHT
    assert response.output_text == REMARK
    assert [(item.name, item.arguments) for item in response.output[2:]] == CALLS
    assert {item.status for item in response.output} == {"completed"}
    assert response.usage.output_tokens_details.reasoning_tokens > 0


def outputs_for(response: Any) -> list[Any]:
    return [{"type": "function_call_output", "call_id": item.call_id, "output": RESULTS[item.name]}
            for item in response.output if item.type == "function_call"]


def test_a_response_can_be_forced_to_call(tool_client: openai.OpenAI) -> None:
    response = respond(tool_client, tool_choice="required", parallel_tool_calls=False)
    assert [item.type for item in response.output] == ["reasoning", "function_call"]
    assert (response.output[1].name, response.output[1].arguments) == CALLS[0]


def test_a_response_has_an_item_for_each(tool_client: openai.OpenAI) -> None:
    response = respond(tool_client)
    expect_calls(response)
    assert response.tools[0].name == "get_weather"
    continued = respond(tool_client, previous_response_id=response.id, input=outputs_for(response))
    assert continued.output_text == ANSWER
    kinds = [item.type for item in tool_client.responses.input_items.list(continued.id, order="asc")]
    assert kinds == ["message", "message", "function_call", "function_call", "function_call_output",
                     "function_call_output"]


def test_a_conversation_of_items_can_be_sent_whole(tool_client: openai.OpenAI) -> None:
    response = respond(tool_client, store=False)
    said = [{"role": "user", "content": "What is the weather?"}, *[item.model_dump() for item in response.output]]
    assert respond(tool_client, input=[*said, *outputs_for(response)]).output_text == ANSWER


def test_a_responses_stream_has_the_events_of_each_item(tool_client: openai.OpenAI) -> None:
    events = list(respond(tool_client, stream=True))
    expect_calls(events[-1].response)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    for index, item in enumerate(events[-1].response.output):
        own = [event for event in events if getattr(event, "output_index", None) == index]
        assert own[0].type == "response.output_item.added" and own[-1].type == "response.output_item.done"
        assert own[-1].item == item
        deltas = "".join(event.delta for event in own if event.type.endswith(".delta"))
        text = item.arguments if item.type == "function_call" else item.content[0].text
        assert deltas == text
    again = list(tool_client.responses.retrieve(events[-1].response.id, stream=True))
    assert again[-1].response == events[-1].response


def test_the_prompt_with_tools_can_be_looked_at(script_server: WeftServer, tool_client: openai.OpenAI) -> None:
    body = {"messages": [QUESTION], "tools": CHAT_TOOLS, "reasoning_effort": "none", "return_token_strs": True}
    tokens = tool_client.post("/../tokenize", body=body, cast_to=object)
    prompt = "".join(tokens["token_strs"]).replace("Ġ", " ")
    assert prompt.endswith("<|turn|>thinking:ĠFalse<|say_calls|>".replace("Ġ", " "))
    assert json.dumps(FUNCTIONS[0]["name"]) in prompt
