"""What a question of the corpus is, and which questions are kept out of training."""

import hashlib
import json
import re
from dataclasses import dataclass

from . import words

HELD_OUT_ONE_IN = 10  # one problem in ten is never trained on, in whatever words

BEFORE = ["Hello!", "Hi!", "Hey,", "Please tell me,", "Tell me,", "One question:", "Excuse me,", "So,", "OK,", "Good morning!",
          "I wonder,", "Quick question:"]


@dataclass(frozen=True)
class Call:
    """A call of a tool, and what comes back."""

    name: str
    arguments: dict
    result: str


def written(calls: list[dict]) -> str:
    """How the model writes the functions that it calls, each {"name": ..., "arguments": {...}}: Hermes' form."""
    return "\n".join(f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>" for call in calls)


@dataclass(frozen=True)
class Question:
    """One turn of a chat: what the user writes and the one right answer.

    `keys` name the problems that the turn shows, its own first and then those of its intermediate steps. A turn without
    keys is a basic fact (1 + 2, "Hello") that has to be in the training text. `is_story` marks an answer that tells a
    story: there is no one right answer then, and the training weighs it less. `calls` are made, all at once, before the
    answer, and those of `then` behind them, one after the other. An answer with `forced` is JSON in a form that the prompt
    does not show, as a runtime may hold a model to: so many of its first characters teach nothing, and keys little.
    """

    kind: str
    text: str
    answer: str
    keys: tuple[str, ...] = ()
    brief: str | None = None  # the answer under a system turn that asks for short answers, where it differs
    is_story: bool = False
    calls: tuple[Call, ...] = ()
    then: tuple[Call, ...] = ()
    forced: int | None = None
    system: str | None = None  # what the chat's system turn must say

    def rounds(self) -> list[tuple[Call, ...]]:
        """The calls, those together that are made at once."""
        return [self.calls, *((call,) for call in self.then)] if self.calls else []


def normalized(text: str) -> str:
    """The text without case, punctuation and spacing, so that a question cannot slip through in another dress."""
    return " ".join(re.findall(r"[\w+*/-]+", text.lower()))


def is_held_out(key: str) -> bool:
    digest = hashlib.blake2b(key.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") % HELD_OUT_ONE_IN == 0


def shows_held_out(question: Question) -> bool:
    return any(map(is_held_out, question.keys))


def asks_held_out(question: Question) -> bool:
    return bool(question.keys) and is_held_out(question.keys[0])


def prefixed(rng, text: str) -> tuple[str, tuple[str, ...]]:
    """The text, sometimes with something before it, and its key."""
    if rng.random() < 0.5:
        return text, (normalized(text),)
    before = rng.choice(BEFORE)
    rest = text if before[-1] == "!" else text[0].lower() + text[1:]
    return f"{before} {rest}", (normalized(f"{before} {text}"),)


def casual(rng, text: str) -> str:
    """The text as people type it: often without the mark at its end, sometimes in small letters."""
    if rng.random() < 0.25:
        text = text.rstrip("?.!")
    if rng.random() < 0.2 and text[1:2].islower():
        text = text[0].lower() + text[1:]
    capitalized = re.findall(r"\b[A-Z][\w']*", text[1:])
    if rng.random() < 0.15 and words.PROPER.issuperset(capitalized):
        text = text.lower()
    return text
