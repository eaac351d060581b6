"""LlamaIndex's client of servers that speak OpenAI's API."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from prompts import MODEL
from script_model import ANSWER, CALLS, REMARK
from weft_server import WeftServer

openai_like = pytest.importorskip("llama_index.llms.openai_like")

pytestmark = pytest.mark.filterwarnings("ignore")  # its own, of Pydantic


class City(BaseModel):
    """A city."""

    name: str = Field(min_length=1, max_length=12, pattern="^[A-Z][a-z]+$")
    people: int = Field(ge=0, le=9999)


def model_on(server: WeftServer, **options: Any) -> Any:
    return openai_like.OpenAILike(**{"model": MODEL, "api_base": server.url + "/v1", "api_key": "none", "max_retries": 0,
                                     "context_window": 512, "is_chat_model": True, "temperature": 0, "max_tokens": 12, **options})


def tools_that_note(called: list[Any]) -> list[Any]:
    from llama_index.core.tools import FunctionTool

    def get_weather(city: str, days: int) -> str:
        """Says the weather."""
        called.append(("get_weather", {"city": city, "days": days}))
        return "sunny"

    def get_time(zone: str) -> str:
        """Says the time."""
        called.append(("get_time", {"zone": zone}))
        return "noon"

    return [FunctionTool.from_defaults(get_weather), FunctionTool.from_defaults(get_time)]


def test_a_completion_is_the_same_at_once_and_as_it_comes(server):
    model = model_on(server, is_chat_model=False)
    whole = model.complete("Once upon a time").text
    assert whole
    assert [part.text for part in model.stream_complete("Once upon a time")][-1] == whole


def test_a_chat_is_the_same_at_once_and_as_it_comes(server):
    from llama_index.core.llms import ChatMessage

    question = [ChatMessage(role="system", content="Be short."), ChatMessage(role="user", content="Who are you?")]
    model = model_on(server)
    whole = model.chat(question).message.content
    assert whole
    assert [part.message.content for part in model.stream_chat(question)][-1] == whole


def test_tools_are_called_and_their_results_sent_back(script_server):
    from llama_index.core.llms import ChatMessage

    called: list[Any] = []
    tools = tools_that_note(called)
    model = model_on(script_server, is_function_calling_model=True, max_tokens=400)
    answer = model.chat_with_tools(tools, "What is the weather?", allow_parallel_tool_calls=True)
    calls = model.get_tool_calls_from_response(answer)
    assert [(call.tool_name, call.tool_kwargs) for call in calls] == CALLS
    assert answer.message.content == REMARK
    by_name = {tool.metadata.name: tool for tool in tools}
    history = [ChatMessage(role="user", content="What is the weather?"), answer.message]
    for call in calls:
        result = by_name[call.tool_name].call(**call.tool_kwargs).content
        history.append(ChatMessage(role="tool", content=result, additional_kwargs={"tool_call_id": call.tool_id}))
    assert model.chat_with_tools(tools, chat_history=history).message.content == ANSWER
    assert called == CALLS


def test_an_answer_is_the_model_that_was_asked_for(server):
    from llama_index.core.prompts import PromptTemplate

    model = model_on(server, is_function_calling_model=True, temperature=1.5, max_tokens=200)
    city = model.structured_predict(City, PromptTemplate("Name a city."))
    assert isinstance(city, City)
