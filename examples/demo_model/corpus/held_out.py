"""Picks the held-out questions: what no document of the training shows."""

import re
from collections.abc import Iterator

from .chats import CallChat, Chat, StructuredChat, ToolChat
from .long_texts import lengthened
from .question import Question, asks_held_out, shows_held_out, written

KINDS = """addition subtraction multiplication word_problem follow_up three_numbers half_or_double too_hard comparison number_order counting spelling
letters alphabet words_and_items weekday weekday_offset month month_offset length leap_year date story_same_turn story_later
story_unknown short_facts memory small_talk about_itself outside brief""".split()
# What a chat with tools, or with answers as JSON, may end in: calls, what the model makes of results, or no call.
TOOL_KINDS = """call_calculator call_follow_up call_function call_clock call_weather call_two_calls result_calculator
result_follow_up result_function result_clock result_weather result_two_calls result_error no_call json""".split()
STEP_KINDS = "call_lookup result_lookup call_steps then_steps result_steps then_retry result_retry final".split()
STRING_KINDS = "strings begun record".split()
MARKS = {"story", "forced", "given"}  # what only training reads
LONG_SIZES = {"1k": 2500, "3k": 7500, "5k": 12500, "7k": 16500}  # characters of about so many tokens

Ending = tuple[str, list[tuple[str, dict]]]  # what ends a chat: the question's key, and lines with their kinds


def asked(rng, make, share_of_more: float) -> Iterator[tuple[Chat, Question]]:
    """Chats without end that end in a held-out question, each with that; what stands before it shows nothing held out.

    `make` makes an empty chat, and so many of them have something before the last question.
    """
    while True:
        chat = make(rng)
        if rng.random() < share_of_more:
            chat.add_topic(shows_held_out)
        last = chat.add_topic(shows_held_out)
        if last is not None and asks_held_out(last) and not (chat.turns and last.system):
            chat.turns.append(last)
            yield chat, last


def held_out_lines(rng, per_kind: int) -> Iterator[dict]:
    """For each kind `per_kind` chats that end in a held-out question: {"kind", "messages", "answer"}.

    Questions under a system turn that asks for short answers are a kind of their own.
    """
    def lines() -> Iterator[Ending]:
        for chat, last in asked(rng, Chat, 0.25):
            messages = plain(chat.messages())
            kind = "brief" if chat.is_brief and last.brief else last.kind
            yield last.keys[0], [(kind, {"messages": messages[:-1], "answer": messages[-1]["content"]})]

    return of_each_kind(lines(), KINDS, per_kind)


def tool_lines(rng, per_kind: int) -> Iterator[dict]:
    """As `held_out_lines`, of chats with tools or with answers as JSON; a line of the former has their "tools".

    A turn with calls is asked for all of them, and then for its answer.
    """
    def lines() -> Iterator[Ending]:
        for chat, last in asked(rng, lambda rng: (StructuredChat if rng.random() < 0.1 else ToolChat)(rng), 0.35):
            yield last.keys[0], list(endings(chat, last))

    return of_each_kind(lines(), TOOL_KINDS + STEP_KINDS, per_kind)


def string_lines(rng, per_kind: int) -> Iterator[dict]:
    """As `tool_lines`, of answers with free strings: by a schema, as the arguments of a call, and "begun" as a grammar would."""
    def lines() -> Iterator[Ending]:
        for chat, last in asked(rng, lambda rng: (CallChat if rng.random() < 0.3 else StructuredChat)(rng), 0.2):
            yield last.keys[0], list(endings(chat, last))

    return of_each_kind(lines(), STRING_KINDS, per_kind)


def long_lines(rng, per_kind: int) -> Iterator[dict]:
    """As the others, with some thousand tokens of text, or of tools, that have nothing to do with the question."""
    makers = {"question": Chat, "tool": ToolChat, "json": StructuredChat}

    def lines() -> Iterator[Ending]:
        sources = {name: asked(rng, make, 0.2) for name, make in makers.items()}
        while True:
            size, name = rng.choice(list(LONG_SIZES)), rng.choice(list(makers))
            chat, last = next(sources[name])
            if not chat.is_brief and (found := list(endings(chat, last))):
                _, line = rng.choice(found)
                length = max(200, LONG_SIZES[size] - len(str(line.get("tools", ""))))
                long = lengthened(rng, line["messages"], length)
                yield last.keys[0], [(f"{name}_{size}", {**line, "messages": long})]

    return of_each_kind(lines(), [f"{name}_{size}" for name in makers for size in LONG_SIZES], per_kind)


def of_each_kind(chats: Iterator[Ending], kinds: list[str], per_kind: int) -> Iterator[dict]:
    """`per_kind` lines of each of the kinds; no two chats have the same key."""
    missing = dict.fromkeys(kinds, per_kind)
    seen: set[str] = set()
    while any(missing.values()):
        key, lines = next(chats)
        if key in seen:
            continue
        for kind, line in lines:
            if missing.get(kind):
                missing[kind] -= 1
                seen.add(key)
                yield {"kind": kind, **line}


def endings(chat: Chat, last: Question) -> Iterator[tuple[str, dict]]:
    """The kinds of lines that the chat's last turn gives, each with its line."""
    messages = plain(chat.messages())
    tools = {"tools": chat.tools()} if isinstance(chat, (ToolChat, CallChat)) else {}
    question = max(i for i, message in enumerate(messages) if message["role"] == "user")
    said = [i for i, message in enumerate(messages) if i > question and message["role"] == "assistant"]
    for name, place in zip(names_of(chat, last, len(said)), said):
        line = {**tools, "messages": messages[:place], "answer": text_of(messages[place])}
        line = begun(line) if name == "begun" else line
        if line:
            yield name, line


def names_of(chat: Chat, last: Question, count: int) -> list[str]:
    """The kind of each of the messages that the last turn gets, "" for none."""
    if isinstance(chat, ToolChat) and chat.box.final:
        return [""] * (count - 1) + ["final"]
    if last.calls and count > 1:
        return [f"{name}_{last.kind}" for name in ["call", "then"][:count - 1] + ["result"]]
    return ["no_call" if isinstance(chat, ToolChat) else last.kind]


def begun(line: dict) -> dict:
    """The line with the beginning of the answer up to its first string, and as its answer the rest of this one."""
    beginning = re.match(r'\{"\w+": "', line["answer"])
    if beginning is None:
        return {}
    rest = line["answer"][beginning.end():]
    return {**line, "begun": beginning.group(), "answer": re.match(r'(?:[^"\\]|\\.)*"', rest).group()}


def text_of(message: dict) -> str:
    return message["content"] or written([call["function"] for call in message["tool_calls"]])


def plain(messages: list[dict]) -> list[dict]:
    """The messages without the marks that only training reads."""
    return [{key: value for key, value in message.items() if key not in MARKS} for message in messages]
