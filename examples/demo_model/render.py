"""How a document of the corpus becomes tokens, and how much each of them counts in training.

The text is what the chat template of tokenizer_config.json makes of the same messages.
"""

import json
import re

from tokenizers import Tokenizer

from corpus.question import written

END_OF_TEXT, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SYSTEM = "You are the demo model of Weft."  # of a chat that has no system turn
MAX_LENGTH = 8192

# Weights of a token, in tenths. Most words of a story could be others, so they teach less than an answer does.
# Keys of JSON in a form that the prompt does not show teach as little, and what a runtime forces teaches nothing.
NONE, KEY, STORY, ANSWER = 0, 2, 3, 10
KEYS = re.compile(r'(?:(?<=")|^)(\w+)(?=": )')


def parts(document: dict) -> list[tuple[str, int]]:
    """The document's text in pieces, each with the weight of its tokens."""
    if "text" in document:
        return [(document["text"] + END_OF_TEXT, STORY)]
    messages = document["messages"]
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": SYSTEM}, *messages]
    found = []
    for message in messages:
        found.append((f"{IM_START}{message['role']}\n", NONE))
        found += weighted(message)
        found.append(("\n", NONE))
    if tools := document.get("tools"):
        system, _ = found[1]
        found[1] = system.removesuffix(IM_END) + offered(tools) + IM_END, NONE
    return found


def weighted(message: dict) -> list[tuple[str, int]]:
    """The message's text in pieces, each with the weight of its tokens."""
    text = content(message) + IM_END
    if message["role"] != "assistant" or message.get("given"):
        return [(text, NONE)]
    weight = STORY if message.get("story") else ANSWER
    if (forced := message.get("forced")) is None:
        return [(text, weight)]
    pieces = [(piece, KEY if i % 2 else weight) for i, piece in enumerate(KEYS.split(text[forced:]))]
    return [(piece, weight) for piece, weight in [(text[:forced], NONE), *pieces] if piece]


def content(message: dict) -> str:
    """The message's text and the calls that it makes."""
    calls = written([call["function"] for call in message.get("tool_calls", [])])
    return "\n".join(filter(None, (message["content"].strip(), calls)))


def offered(tools: list[dict]) -> str:
    """Returns the system turn's text about the tools."""
    return "\n\n# Tools" + "".join("\n" + json.dumps(tool["function"], ensure_ascii=False) for tool in tools)


def prompt(document: dict) -> str:
    """Returns the text before the answer to the last message."""
    return "".join(text for text, _ in parts(document)) + f"{IM_START}assistant\n"


def encode(tokenizer: Tokenizer, documents: list[dict]) -> list[tuple[list[int], list[int]]]:
    """For each document its token ids and their weights."""
    pieces = [parts(document) for document in documents]
    encodings = iter(tokenizer.encode_batch_fast([text for piece in pieces for text, _ in piece]))
    found = []
    for piece in pieces:
        ids: list[int] = []
        weights: list[int] = []
        for _, weight in piece:
            new = next(encodings).ids
            ids += new
            weights += [weight] * len(new)
        found.append((ids, weights))
    return found
