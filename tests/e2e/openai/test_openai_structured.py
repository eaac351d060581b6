"""Structured output through OpenAI's client, which parses it by pydantic's models."""

import json
import re
from typing import Literal

import openai
import pytest
from pydantic import BaseModel, ConfigDict, Field

from prompts import MODEL, QUESTION


class Place(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str = Field(max_length=12)
    zip: str = Field(pattern=r"^\d{5}$")


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=16)
    age: int = Field(ge=0, le=150)
    mood: Literal["good", "bad"]
    nick: str | None = Field(max_length=8)
    score: float = Field(ge=-1, le=1)
    tags: list[Literal["a", "b", "c"]] = Field(max_length=3)
    homes: list[Place] = Field(min_length=1, max_length=2)


def ask(client: openai.OpenAI, **options):
    return client.chat.completions.create(
        **{"model": MODEL, "messages": QUESTION, "max_tokens": 400, "temperature": 1.5, "seed": 3, **options})


def test_every_document_is_one_of_the_schema_however_hot_the_model_is(client):
    schema = {"type": "json_schema", "json_schema": {"name": "person", "schema": Person.model_json_schema(), "strict": True}}
    answer = ask(client, n=16, response_format=schema)
    for choice in answer.choices:
        assert choice.finish_reason == "stop"
        Person.model_validate_json(choice.message.content)
    assert len({choice.message.content for choice in answer.choices}) > 8


def test_the_client_parses_its_own_models(client):
    answer = client.chat.completions.parse(
        model=MODEL, messages=QUESTION, max_tokens=400, seed=5, response_format=Person)
    assert isinstance(answer.choices[0].message.parsed, Person)
    response = client.responses.parse(model=MODEL, input="Who?", max_output_tokens=400, text_format=Place)
    assert isinstance(response.output_parsed, Place)
    assert response.text.format.type == "json_schema"


def test_a_stream_is_the_same_document(client):
    schema = {"type": "json_schema", "json_schema": {"name": "place", "schema": Place.model_json_schema()}}
    with ask(client, stream=True, response_format=schema) as stream:
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    Place.model_validate_json(text)
    assert text == ask(client, response_format=schema).choices[0].message.content


def test_a_stop_string_cuts_a_document_and_says_so(client):
    schema = {"type": "json_schema", "json_schema": {"name": "place", "schema": Place.model_json_schema()}}
    whole = ask(client, response_format=schema).choices[0].message.content
    cut = ask(client, response_format=schema, stop=['"zip"']).choices[0]
    assert cut.message.content == whole[:whole.index('"zip"')]
    assert (cut.finish_reason, cut.model_extra["stop_reason"]) == ("stop", '"zip"')
    response = client.responses.create(model=MODEL, input="Where?", max_output_tokens=400, extra_body={"stop": ['"zip"']},
                                       text={"format": {"type": "json_schema", "name": "place", "schema": Place.model_json_schema()}})
    assert (response.status, response.incomplete_details.reason) == ("incomplete", "stop")


def test_greedy_beams_and_logprobs_hold_to_it_as_well(client):
    schema = {"type": "json_schema", "json_schema": {"name": "place", "schema": Place.model_json_schema()}}
    for options in ({"temperature": 0}, {"logprobs": True, "top_logprobs": 3}, {"extra_body": {"min_tokens": 200}},
                    {"temperature": 0, "extra_body": {"use_beam_search": True, "num_beams": 3}},
                    {"n": 2, "extra_body": {"best_of": 4}}, {"extra_body": {"min_p": 0.1, "repetition_penalty": 1.2}}):
        answer = ask(client, response_format=schema, **options)
        for choice in answer.choices:
            Place.model_validate_json(choice.message.content)


def test_any_object_is_json(client):
    answer = ask(client, n=8, temperature=1.0, max_tokens=600, response_format={"type": "json_object"})
    whole = [choice.message.content for choice in answer.choices if choice.finish_reason == "stop"]
    assert whole
    for text in whole:
        assert isinstance(json.loads(text), dict)


@pytest.mark.parametrize("field", ["guided", "structured_outputs"])
def test_what_vllms_clients_send_holds(client, field):
    def body(kind, value):
        return {f"guided_{kind}": value} if field == "guided" else {field: {kind: value}}

    for choice in ask(client, n=8, extra_body=body("regex", r"[a-z]{3,5}-\d{2}")).choices:
        assert re.fullmatch(r"[a-z]{3,5}-\d{2}", choice.message.content)
    for choice in ask(client, n=8, extra_body=body("choice", ["red", "green", "gre"])).choices:
        assert choice.message.content in {"red", "green", "gre"}
    for grammar in ('root ::= "(" root ")" | "x"{1,3}', 'start: "(" start ")" | "x"~1..3'):
        for choice in ask(client, n=8, extra_body=body("grammar", grammar)).choices:
            inside = choice.message.content.strip("()")
            if choice.finish_reason == "stop":
                assert inside in {"x", "xx", "xxx"}
                assert choice.message.content.count("(") == choice.message.content.count(")")
    Place.model_validate_json(ask(client, extra_body=body("json", Place.model_json_schema())).choices[0].message.content)


@pytest.mark.parametrize("schema, param", [
    ({"type": "object", "properties": {"a": {"not": {}}}}, "response_format.json_schema.schema.properties.a.not"),
    ({"type": "array", "uniqueItems": True}, "response_format.json_schema.schema.uniqueItems"),
    ({"type": "string", "pattern": "(?=a)"}, "response_format.json_schema.schema.pattern")])
def test_what_is_not_supported_is_refused_by_its_place(client, schema, param):
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}})
    assert refused.value.param == param
