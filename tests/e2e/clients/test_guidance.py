"""Guidance's two models of servers that speak OpenAI's API."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from prompts import MODEL
from weft_server import WeftServer

guidance = pytest.importorskip("guidance")

pytestmark = pytest.mark.filterwarnings("ignore")  # its own


class City(BaseModel):
    name: str = Field(min_length=1, max_length=12, pattern="^[A-Z][a-z]+$")
    people: int = Field(ge=0, le=9999)


def model_on(server: WeftServer, kind: str) -> Any:
    from guidance.models import OpenAI
    from guidance.models.experimental import VLLMModel

    made = {"openai": OpenAI, "vllm": VLLMModel}[kind]
    return made(MODEL, base_url=server.url + "/v1", api_key="none", echo=False)


@pytest.mark.parametrize("kind", ["openai", "vllm"])
def test_a_text_is_generated_and_captured(server: WeftServer, kind: str) -> None:
    model = model_on(server, kind)
    with guidance.user():
        model += "What is Weft?"
    with guidance.assistant():
        model += guidance.gen("answer", max_tokens=24, temperature=0.0)
    assert "Weft" in model["answer"]
    assert model["answer"] in str(model)
    assert "  " not in model["answer"], "no space is told twice"


@pytest.mark.parametrize("kind", ["openai", "vllm"])
def test_an_output_has_the_schema_that_it_is_to_have(server: WeftServer, kind: str) -> None:
    model = model_on(server, kind)
    with guidance.user():
        model += "Name a city."
    with guidance.assistant():
        # Guidance asks for single blanks and finds no capture in an output with others.
        model += guidance.json("city", schema=City, temperature=1.0)
    City.model_validate_json(model["city"])


def test_an_output_matches_its_grammar(server: WeftServer) -> None:
    model = model_on(server, "vllm")
    with guidance.user():
        model += "Which is larger?"
    with guidance.assistant():
        model += "The " + guidance.select(["first", "second"], name="which") + " has " + guidance.gen(
            "digits", regex="[1-9][0-9]{2}")
    assert model["which"] in ("first", "second")
    assert len(model["digits"]) == 3 and model["digits"].isdigit()
