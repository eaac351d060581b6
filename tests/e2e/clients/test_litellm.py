"""LiteLLM, as others' programs and its proxy use it."""

import json
import os
from typing import Any

import pytest

from prompts import MODEL, QUESTION
from script_model import ANSWER, CALLS, REMARK, THOUGHT
from weft_server import WeftServer

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it is fetched when the module is loaded
litellm = pytest.importorskip("litellm")

pytestmark = pytest.mark.filterwarnings("ignore")  # its own, of Pydantic
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {
    "type": "object", "properties": {key: {"type": "string"} for key in arguments}}}} for name, arguments in CALLS]


def complete(server: WeftServer, **options: Any) -> Any:
    return litellm.completion(**{"model": f"openai/{MODEL}", "api_base": server.url + "/v1", "api_key": "none",
                                 "messages": QUESTION, "num_retries": 0, **options})


def calls_of(message: Any) -> list[tuple[str, Any]]:
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]


def test_calls_and_thoughts_are_read_and_sent_back(script_server):
    message = complete(script_server, tools=TOOLS).choices[0].message
    assert calls_of(message) == CALLS
    assert (message.content, message.reasoning_content) == (REMARK, THOUGHT)
    results = [{"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": "ok"}
               for call in message.tool_calls]
    answer = complete(script_server, tools=TOOLS, messages=[*QUESTION, message.model_dump(), *results])
    assert answer.choices[0].message.content == ANSWER


def test_a_stream_is_put_together(script_server):
    chunks = list(complete(script_server, tools=TOOLS, stream=True, stream_options={"include_usage": True}))
    assert calls_of(litellm.stream_chunk_builder(chunks).choices[0].message) == CALLS


def test_an_answer_is_bounded_and_counted(server):
    answer = complete(server, max_tokens=8, temperature=0, user="me", logprobs=True)
    assert answer.usage.completion_tokens == 8
    assert len(answer.choices[0].logprobs.content) == 8


def test_anthropics_messages_are_passed_on(script_server):
    answer = litellm.completion(model=f"anthropic/{MODEL}", api_base=script_server.url, api_key="none", messages=QUESTION,
                                max_tokens=100)
    assert answer.choices[0].message.content.startswith("Hello")
