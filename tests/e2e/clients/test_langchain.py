"""LangChain's client of OpenAI's API."""

from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import AnyUrl, BaseModel, Field, UrlConstraints

from prompts import MODEL
from script_model import ANSWER, CALLS, REMARK
from weft_server import WeftServer

langchain = pytest.importorskip("langchain_openai")


class City(BaseModel):
    """A city and how many live there."""

    name: str = Field(min_length=1, max_length=12, pattern="^[A-Z][a-z]+$")
    people: int = Field(ge=0, le=9999)


def model_on(server: WeftServer, **options: Any) -> Any:
    return langchain.ChatOpenAI(model=MODEL, base_url=server.url + "/v1", api_key="none", max_retries=0, **options)


def get_weather(city: str, days: int) -> str:
    """Says the weather."""
    return f"sunny in {city} for {days} days"


def get_time(zone: str) -> str:
    """Says the time."""
    return f"noon {zone}"


TOOLS = [get_weather, get_time]


@pytest.mark.parametrize("responses", [False, True])
def test_tools_are_bound_called_and_answered(script_server, responses):
    bound = model_on(script_server, use_responses_api=responses).bind_tools(TOOLS)
    question = ("human", "What is the weather?")
    called = bound.invoke([question])
    assert [(call["name"], call["args"]) for call in called.tool_calls] == CALLS
    assert REMARK in called.text
    results = [{"role": "tool", "tool_call_id": call["id"], "content": tool(**call["args"])}
               for tool, call in zip(TOOLS, called.tool_calls, strict=True)]
    assert bound.invoke([question, called, *results]).text == ANSWER


def test_calls_come_in_pieces_of_a_stream(script_server):
    whole = None
    for piece in model_on(script_server).bind_tools(TOOLS).stream("What is the weather?"):
        whole = piece if whole is None else whole + piece
    assert [(call["name"], call["args"]) for call in whole.tool_calls] == CALLS


@pytest.mark.parametrize("options", [{}, {"method": "json_schema", "strict": True}, {"method": "json_schema", "strict": False},
                                     {"method": "function_calling"}, {"method": "function_calling", "strict": True}])
@pytest.mark.parametrize("responses", [False, True])
def test_an_answer_has_the_structure_that_it_is_to_have(server, options, responses):
    model = model_on(server, temperature=1.5, max_tokens=200, use_responses_api=responses)
    city = model.with_structured_output(City, **options).invoke("Name a city.")
    assert isinstance(city, City)


def test_an_answer_is_json_where_that_is_all_that_is_asked_for(server):
    structured = model_on(server, temperature=0, max_tokens=200).with_structured_output(method="json_mode", include_raw=True)
    answer = structured.invoke("Answer in JSON: what is Weft?")
    assert answer["parsing_error"] is None
    assert isinstance(answer["parsed"], dict)


class Visit(BaseModel):
    """A class as people write it without thinking of strict schemas; the json_schema method needs a strict one."""

    day: date | None = None
    page: Annotated[AnyUrl, UrlConstraints(max_length=2083)]
    colours: set[Literal["red", "green", "blue"]] = Field(min_length=1, max_length=3)
    stars: int = Field(ge=0, le=10, multiple_of=2)


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_an_answer_has_the_types_of_pydantic(server, method):
    model = model_on(server, temperature=0.7, max_tokens=400)
    visit = model.with_structured_output(Visit, method=method, strict=False).invoke("Describe a visit.")
    assert isinstance(visit, Visit)
    assert visit.stars % 2 == 0


def test_a_text_streams_with_its_usage(server):
    pieces = list(model_on(server, max_tokens=8, stream_usage=True).stream("What is Weft?"))
    assert "".join(piece.text for piece in pieces)
    assert sum(piece.usage_metadata["output_tokens"] for piece in pieces if piece.usage_metadata) == 8
