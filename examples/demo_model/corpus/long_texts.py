"""Puts a long text that has nothing to do with the questions into a chat, where programs have such texts."""

import math

from . import filler

SIZES = 300, 18500  # characters, some 120 and 7,100 tokens
BEHIND = ["{f}\n\n{q}", "<context>\n{f}\n</context>\n\n{q}", "Context:\n{f}\n\nQuestion: {q}", "{f}\n\n<user_query>\n{q}\n</user_query>",
          "### Context\n{f}\n\n### Task\n{q}", "Here are some files.\n\n{f}\n\n---\n{q}", "{f}\n{q}"]
BEFORE = ["{q}\n\n{f}", "<task>\n{q}\n</task>\n\n{f}", "{q}\n<environment_details>\n{f}\n</environment_details>",
          "Question: {q}\n\nContext:\n{f}"]
HEARD = ["Ok.", "OK", "Understood.", "I see.", "Ok, I will use that.", "Thanks, I have read it.", "Done."]
SYSTEMS = ["{s}\n\n{f}", "{s}\n{f}", "{f}\n\n{s}", "{s} {f}"]


def size(rng) -> int:
    """Characters; as many texts from 500 to 1,000 as from 5,000 to 10,000."""
    low, high = map(math.log, SIZES)
    return int(math.exp(rng.uniform(low, high)))


def lengthened(rng, messages: list[dict], length: int | None = None) -> list[dict]:
    """The messages with a text of about `length` characters, most often in the system turn."""
    text = filler.text(rng, length or size(rng))
    kind = rng.random()
    if kind < 0.65:
        return in_system(rng, messages, text)
    if kind < 0.85:
        return in_question(rng, messages, text)
    heard = [{"role": "user", "content": text}, {"role": "assistant", "content": rng.choice(HEARD), "given": True}]
    first = 1 if messages[0]["role"] == "system" else 0
    if rng.random() < 0.5:
        return in_system(rng, messages[:first] + heard + messages[first:], filler.text(rng, len(text) // 4))
    return messages[:first] + heard + messages[first:]


def in_system(rng, messages: list[dict], text: str) -> list[dict]:
    if messages[0]["role"] != "system":
        return [{"role": "system", "content": text}, *messages]
    said = messages[0]["content"]
    return [{"role": "system", "content": rng.choice(SYSTEMS).format(s=said, f=text)}, *messages[1:]]


def in_question(rng, messages: list[dict], text: str) -> list[dict]:
    """The text in the first or the last of the user's turns."""
    turns = [i for i, message in enumerate(messages) if message["role"] == "user"]
    place = rng.choice((turns[0], turns[-1]))
    form = rng.choice(BEHIND if rng.random() < 0.65 else BEFORE)
    asked = {**messages[place], "content": form.format(q=messages[place]["content"], f=text)}
    return [*messages[:place], asked, *messages[place + 1:]]
