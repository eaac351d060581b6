"""Instructor, which asks for answers as Pydantic's models: by a schema, by a call, and as they come."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from prompts import MODEL
from weft_server import WeftServer

instructor = pytest.importorskip("instructor")

ASKED = {"model": MODEL, "messages": [{"role": "user", "content": "Name a city."}], "temperature": 1.5, "max_tokens": 300,
         "max_retries": 0}


class City(BaseModel):
    """A city."""

    name: str = Field(min_length=1, max_length=12, pattern="^[A-Z][a-z]+$")
    kind: Literal["town", "port"]
    people: int = Field(ge=0, le=9999)
    near: list[Annotated[str, Field(max_length=8)]] = Field(max_length=2, description="others")


def client_of(server: WeftServer, mode: Any) -> Any:
    return instructor.from_provider(f"openai/{MODEL}", base_url=server.url + "/v1", api_key="none", mode=mode)


@pytest.mark.parametrize("mode", ["TOOLS", "JSON_SCHEMA", "RESPONSES_TOOLS"])
def test_an_answer_is_the_model_that_was_asked_for(server, mode):
    asked = dict(ASKED)
    client = client_of(server, instructor.Mode[mode])
    if mode == "RESPONSES_TOOLS":
        asked["max_output_tokens"] = asked.pop("max_tokens")
    assert isinstance(client.create(response_model=City, **asked), City)


@pytest.mark.parametrize("mode", ["TOOLS", "JSON_SCHEMA"])
def test_an_answer_is_read_as_it_comes(server, mode):
    parts = list(client_of(server, instructor.Mode[mode]).create_partial(response_model=City, **ASKED))
    assert len(parts) > 1
    assert City.model_validate(parts[-1].model_dump())


def test_several_answers_come_one_after_the_other(server):
    class Town(BaseModel):
        name: str = Field(min_length=1, max_length=12, pattern="^[A-Z][a-z]+$")

    asked = {**ASKED, "max_tokens": 60}  # it is cut, and what is whole counts
    towns = list(client_of(server, instructor.Mode.TOOLS).create_iterable(response_model=Town, **asked))
    assert all(isinstance(town, Town) for town in towns)
