"""Answers that a client has begun, continued through OpenAI's, Anthropic's and Ollama's clients."""

import anthropic
import ollama
import openai

from prompts import MODEL
from weft_server import WeftServer

SUM = {"role": "user", "content": "What is 12 + 30?"}
WHOLE = "12 + 30 = 42."
BEGUN = "12 + 30"
MESSAGES = [SUM, {"role": "assistant", "content": BEGUN}]


def test_a_chat_goes_on_with_its_last_message(client: openai.OpenAI):
    asked = {"model": MODEL, "temperature": 0, "max_tokens": 20}
    assert client.chat.completions.create(messages=[SUM], **asked).choices[0].message.content == WHOLE
    ways = [(MESSAGES, {"continue_final_message": True, "add_generation_prompt": False}),
            ([SUM, {**MESSAGES[1], "prefix": True}], {})]
    for messages, extra in ways:
        whole = client.chat.completions.create(messages=messages, extra_body=extra, **asked)
        assert BEGUN + whole.choices[0].message.content == WHOLE
        stream = client.chat.completions.create(messages=messages, extra_body=extra, stream=True, **asked)
        assert BEGUN + "".join(chunk.choices[0].delta.content or "" for chunk in stream) == WHOLE


def test_a_message_goes_on_with_what_the_client_has_begun(server: WeftServer):
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        asked = {"model": MODEL, "max_tokens": 20, "messages": MESSAGES, "extra_body": {"temperature": 0}}
        assert BEGUN + client.messages.create(**asked).content[0].text == WHOLE
        with client.messages.stream(**asked) as stream:
            assert BEGUN + "".join(stream.text_stream) == WHOLE


def test_ollamas_chat_goes_on_with_its_last_message(server: WeftServer):
    answer = ollama.Client(server.url).chat(MODEL, MESSAGES, options={"temperature": 0, "num_predict": 20})
    assert BEGUN + answer.message.content == WHOLE
