"""The demo model with the prompts of programs: its whole context, strings that end, and loops of calls that lead to an answer."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from conftest import client_of
from prompts import MODEL
from weft_server import WeftServer

LONG_PROMPT_S = 300  # a sanitizer makes reading thousands of tokens slow
STRING = {"type": "string"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "summary and tags": {"summary": STRING, "tags": {"type": "array", "items": STRING}},
    "title and reason": {"title": STRING, "reason": STRING, "confidence": {"type": "number"}},
    "steps": {"steps": {"type": "array", "items": {"type": "object", "properties": {"explanation": STRING, "output": STRING},
                                                   "required": ["explanation", "output"], "additionalProperties": False}},
              "final_answer": STRING},
    "names that it has not seen": {"observed_state": STRING, "next_goal": STRING, "memory": STRING, "is_done": {"type": "boolean"}}}
QUESTIONS = ["What is 12 + 30?", "Mia is 7 years old. Mia has a red kite.", "What is the capital of France?", "Write a short essay."]
RULES = "\n".join(f"{i}. Use the tools with care, keep the answer short, and never write to the folder number {i} of the project."
                  for i in range(60))


def function(name: str, text: str, *arguments: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {each: STRING for each in arguments}, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": text, "parameters": parameters}}


TOOLS = [function("find_person", "Finds the city where a person lives.", "name"),
         function("get_weather", "Get the weather of a city.", "city")]


@pytest.fixture(scope="module")
def whole_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeftServer]:
    """One that has the model's whole context."""
    server = WeftServer(tmp_path_factory.mktemp("server"), {"memory": {"max_context": 0}})
    yield server
    server.wait_until_idle()
    server.stop()
    server.expect_clean_log()


@pytest.fixture
def whole_client(whole_server: WeftServer) -> Iterator[openai.OpenAI]:
    with client_of(whole_server) as made:
        yield made.with_options(timeout=LONG_PROMPT_S)


def ask(client: openai.OpenAI, messages: list[dict[str, Any]], **options: Any) -> Any:
    return client.chat.completions.create(model=MODEL, messages=messages, temperature=0, **options).choices[0]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", SCHEMAS)
def test_free_strings_end_where_the_prompt_does_not_show_the_schema(whole_client, name: str, question: str):
    schema = {"type": "object", "properties": SCHEMAS[name], "required": list(SCHEMAS[name]), "additionalProperties": False}
    choice = ask(whole_client, [{"role": "user", "content": question}], max_tokens=400,
                 response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}})
    assert choice.finish_reason == "stop", choice.message.content
    assert list(json.loads(choice.message.content)) == list(SCHEMAS[name])


@pytest.mark.parametrize("question", QUESTIONS)
def test_any_object_ends(whole_client, question: str):
    choice = ask(whole_client, [{"role": "user", "content": question}], max_tokens=400, response_format={"type": "json_object"})
    assert choice.finish_reason == "stop", choice.message.content
    assert json.loads(choice.message.content)


def test_a_question_behind_instructions_that_are_long_is_answered(whole_client):
    answer = whole_client.chat.completions.create(model=MODEL, temperature=0, messages=[
        {"role": "system", "content": RULES}, {"role": "user", "content": "What is 12 + 30?"}])
    assert answer.usage.prompt_tokens > 1500
    assert answer.choices[0].message.content == "12 + 30 = 42."


@pytest.mark.parametrize("system", ["You are a helpful assistant.", RULES], ids=["short", "long"])
def test_a_second_call_depends_on_what_the_first_gave(whole_client, system: str):
    messages: list[dict[str, Any]] = [{"role": "system", "content": system},
                                      {"role": "user", "content": "What is the weather where Mia lives?"}]
    results = {("find_person", "Mia"): "Oslo", ("get_weather", "Oslo"): "rainy, 7 degrees"}
    for _ in results:
        choice = ask(whole_client, messages, tools=TOOLS)
        assert choice.finish_reason == "tool_calls", choice.message.content
        (call,) = choice.message.tool_calls
        (argument,) = json.loads(call.function.arguments).values()
        messages += [choice.message.model_dump(exclude_none=True),
                     {"role": "tool", "tool_call_id": call.id, "content": results[call.function.name, argument]}]
    assert ask(whole_client, messages, tools=TOOLS).message.content == "Mia lives in Oslo. It is rainy in Oslo, 7 degrees."


def test_an_agent_of_smolagents_answers_with_its_own_prompts(whole_server):
    smolagents = pytest.importorskip("smolagents")

    @smolagents.tool
    def get_weather(city: str) -> str:
        """Get the weather of a city.

        Args:
            city: The city.
        """
        return f"The weather in {city} is sunny, 21 degrees."

    model = smolagents.OpenAIModel(model_id=MODEL, api_base=whole_server.url + "/v1", api_key="none", temperature=0,
                                   client_kwargs={"timeout": LONG_PROMPT_S})
    agent = smolagents.ToolCallingAgent(tools=[get_weather], model=model, verbosity_level=0)
    assert agent.run("What is the weather in Rome?", max_steps=4) == "It is sunny in Rome, 21 degrees."
