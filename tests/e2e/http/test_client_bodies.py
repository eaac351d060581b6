"""What clients send by default, or with an option that changes nothing here: it is taken. Those that can be installed
small are in openai/; these are the bodies of the others, as they were seen on the wire."""

import json
from typing import Any

import pytest

from prompts import QUESTION
from raw_http import RawClient

CHAT, COMPLETION, RESPONSE = "/v1/chat/completions", "/v1/completions", "/v1/responses"
FEW: dict[str, Any] = {"max_tokens": 3, "temperature": 0, "ignore_eos": True}
HISTORY = [*QUESTION, {"role": "assistant", "content": "A server.", "provider_specific_fields": {"refusal": None},
                       "reasoning_content": "hm", "thinking_blocks": [{"type": "thinking", "thinking": "hm"}],
                       "reasoning": "hm", "function_call": None, "tool_calls": None},
           {"role": "user", "content": "Whose?", "cache_control": {"type": "ephemeral"}}]
CODEX = {"instructions": "Be brief.", "input": [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
    {"type": "message", "role": "assistant", "phase": "commentary", "content": [{"type": "output_text", "text": "ok"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
    "tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "reasoning": None, "store": False, "stream": True,
    "include": ["reasoning.encrypted_content"], "prompt_cache_key": "0198", "text": {"verbosity": "medium"},
    "client_metadata": {"x-codex-installation-id": "1"}, "max_output_tokens": 3}


@pytest.mark.parametrize("path, body", [
    (CHAT, {**FEW, "messages": HISTORY}),
    (CHAT, {**FEW, "messages": QUESTION, "verbosity": "low", "web_search_options": {}}),
    (CHAT, {**FEW, "messages": QUESTION, "return_token_ids": False, "prompt_logprobs": 0,
            "spaces_between_special_tokens": True, "cache_prompt": True}),
    (COMPLETION, {**FEW, "prompt": "Once", "return_token_ids": False, "cache_prompt": True}),
    (RESPONSE, CODEX),
    (RESPONSE, {"input": "hi", "max_output_tokens": 3, "context_management": []}),
], ids=["litellm", "openai", "vllm", "vllm-text", "codex", "openai-responses"])
def test_what_clients_send_and_changes_nothing_is_taken(raw: RawClient, path: str, body: dict[str, Any]):
    answer = raw.post(path, body).read()
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("path, body", [(CHAT, {"messages": QUESTION}), (COMPLETION, {"prompt": "Once"})])
def test_guidellm_gets_the_usage_in_every_chunk(raw: RawClient, path: str, body: dict[str, Any]):
    whole = raw.post(path, {**FEW, **body}).read().json()["usage"]
    options = {"stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
    stream = raw.post(path, {**FEW, **body, **options}).read().body.decode()
    usages = [json.loads(event.removeprefix("data: "))["usage"] for event in stream.split("\n\n")[:-2]]
    assert {usage["prompt_tokens"] for usage in usages} == {whole["prompt_tokens"]}
    tokens = [usage["completion_tokens"] for usage in usages]
    assert tokens == sorted(tokens) and tokens[-2:] == [3, 3]
    assert usages[-1] == whole
