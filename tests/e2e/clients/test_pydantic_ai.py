"""Agents of Pydantic AI."""

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AnyUrl, BaseModel, Field, UrlConstraints

from prompts import MODEL
from script_model import ANSWER
from weft_server import WeftServer

pydantic_ai = pytest.importorskip("pydantic_ai")


class City(BaseModel):
    name: str = Field(min_length=1, max_length=12, pattern="^[A-Z][a-z]+$")
    people: int = Field(ge=0, le=9999)


def model_on(server: WeftServer, kind: str) -> Any:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=server.url + "/v1", api_key="none")
    return (OpenAIChatModel if kind == "chat" else OpenAIResponsesModel)(MODEL, provider=provider)


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_an_agent_calls_its_tools_and_answers(script_server, kind):
    called = []
    agent = pydantic_ai.Agent(model_on(script_server, kind), system_prompt="Use the tools.")

    @agent.tool_plain(strict=False)  # the model follows its script, and no grammar
    def get_weather(city: str, days: int) -> str:
        """Says the weather."""
        called.append((city, days))
        return "sunny"

    @agent.tool_plain(strict=False)  # the model follows its script, and no grammar
    def get_time(zone: str) -> str:
        """Says the time."""
        called.append((zone,))
        return "noon"

    assert agent.run_sync("What is the weather?").output == ANSWER
    assert sorted(called, key=str) == [("CET",), ("Zürich", 2)]


class Visit(BaseModel):
    """A class as people write it without thinking of strict schemas."""

    day: date | None = None
    page: Annotated[AnyUrl, UrlConstraints(max_length=2083)]
    colours: set[Literal["red", "green", "blue"]] = Field(min_length=1, max_length=3)
    stars: int = Field(ge=0, le=10, multiple_of=2)
    place: Path | None = None


@pytest.mark.parametrize("mark", [pydantic_ai.NativeOutput, pydantic_ai.ToolOutput, lambda kind: kind])
@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_an_output_has_the_structure_that_it_is_to_have(server, kind, mark):
    agent = pydantic_ai.Agent(model_on(server, kind), output_type=mark(City))
    output = agent.run_sync("Name a city.", model_settings={"temperature": 1.5, "max_tokens": 200}).output
    assert isinstance(output, City)


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_an_output_may_be_of_one_of_several_types(server, kind):
    agent = pydantic_ai.Agent(model_on(server, kind), output_type=[City, Literal["nowhere"]])
    output = agent.run_sync("Name a city.", model_settings={"temperature": 1.5, "max_tokens": 200}).output
    assert output == "nowhere" or isinstance(output, City)


@pytest.mark.parametrize("mark", [pydantic_ai.NativeOutput, pydantic_ai.ToolOutput])
@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_an_output_has_the_types_of_pydantic(server, kind, mark):
    agent = pydantic_ai.Agent(model_on(server, kind), output_type=mark(Visit))
    output = agent.run_sync("Describe a visit.", model_settings={"temperature": 0.7, "max_tokens": 400}).output
    assert isinstance(output, Visit)
    assert output.stars % 2 == 0
