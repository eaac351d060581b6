"""Puts the questions of all kinds together into chats of one or many turns, and picks the held-out ones."""

import re
from collections.abc import Callable, Iterator

from . import (arithmetic, calendar_questions, number_order, short_facts, smalltalk, spelling, stories, structured, tool_turns,
               words)
from .question import Question, asks_held_out, casual, shows_held_out, written
from .toolbox import Toolbox

NEUTRAL = ["You are a helpful assistant.", "You are a friendly assistant.", "Be polite and helpful.", "Answer the user's questions.",
           "You are a helpful, honest assistant.", "You are an assistant for children.", "You are the demo model of Weft.",
           "Help the user.", "You are a chat bot.", "You are {a_role}."]
BRIEF = ["Answer briefly.", "Give short answers.", "Only give the answer.", "Answer as briefly as you can.",
         "Be brief.", "Answer with as few words as possible.", "Keep your answers short."]
NAMED = ["Your name is {n}.", "You are {n}, a helpful assistant.", "You are {n}.", "You are called {n}."]

# Turns that stand alone, and how often each comes up.
SINGLE: list[tuple[float, Callable]] = [
    (13, arithmetic.addition), (15, arithmetic.subtraction), (10, arithmetic.multiplication), (6, arithmetic.word_problem),
    (2, arithmetic.too_hard), (3, arithmetic.three_numbers), (2, arithmetic.half_or_double), (3, number_order.comparison), (1.5, number_order.neighbour), (1, number_order.parity), (1, number_order.prime),
    (2, number_order.sorting), (4, number_order.counting), (6, spelling.spelling), (7, spelling.letters),
    (6, spelling.item_count), (1.5, spelling.alphabet), (2, calendar_questions.weekday), (4, calendar_questions.weekday_offset),
    (2, calendar_questions.month), (4, calendar_questions.month_offset), (2, calendar_questions.length),
    (1, calendar_questions.leap_year), (4, calendar_questions.date), (1.5, smalltalk.thanks_or_bye),
    (4, smalltalk.outside), (1, smalltalk.feeling), (7, short_facts.short_facts)]
SINGLE_WEIGHTS = [weight for weight, _ in SINGLE]
SINGLE_MAKERS = [make for _, make in SINGLE]

KINDS = """addition subtraction multiplication word_problem follow_up three_numbers half_or_double too_hard comparison number_order counting spelling
letters alphabet words_and_items weekday weekday_offset month month_offset length leap_year date story_same_turn story_later
story_unknown short_facts memory small_talk about_itself outside brief""".split()
# What a chat with tools, or with answers as JSON, may end in: calls, what the model makes of results, or no call.
TOOL_KINDS = """call_calculator call_follow_up call_function call_clock call_weather call_two_calls result_calculator
result_follow_up result_function result_clock result_weather result_two_calls result_error no_call json""".split()
COMPUTED = set("addition subtraction multiplication word_problem follow_up three_numbers half_or_double too_hard".split())
TOLD_BY_TOOLS = re.compile(r"\b(time|day|date|weather)\b")


class Chat:
    """The turns of one chat as they grow, and what later turns may come back to."""

    def __init__(self, rng):
        self.rng = rng
        self.turns: list[Question] = []
        self.facts: dict[str, str] = {}  # what the user told
        self.tale: stories.Story | None = None  # the latest story
        self.names: tuple[str, ...] = ()  # the characters of all stories so far, which no later story reuses
        self.system, self.is_brief, self.me = None, False, smalltalk.ME
        kind = rng.random()
        if kind < 0.15:
            self.system = rng.choice(NEUTRAL).format(a_role=words.a(rng.choice(words.ROLES + words.ANIMALS)))
        elif kind < 0.3:
            self.system, self.is_brief = rng.choice(BRIEF), True
        elif kind < 0.38:
            name = words.invented_name(rng) if rng.random() < 0.3 else rng.choice(words.GIRLS + words.BOYS)
            self.system, self.me = rng.choice(NAMED).format(n=name), f"{name}, {smalltalk.ME}"

    def add_topic(self, stops: Callable[[Question], bool]) -> Question | None:
        """Adds the turns of one topic up to the first that `stops`, and returns that one."""
        turns, tale = self.topic()
        end = next((i for i, turn in enumerate(turns) if stops(turn)), len(turns))
        self.turns += turns[:end]
        if tale and end:
            self.tale, self.names = tale, self.names + tale.names
        return turns[end] if end < len(turns) else None

    def topic(self) -> tuple[list[Question], stories.Story | None]:
        """The turns of a topic, and the story that they tell."""
        kind = self.rng.random()
        if kind < 0.12:
            tale = stories.story(self.rng, self.names)
            return (stories.told_story if kind < 0.03 else stories.given_story)(self.rng, tale), tale
        if kind < 0.19:
            return self.memory_turns(), None
        if kind < 0.24:
            make = smalltalk.greeting if kind < 0.215 else smalltalk.about_itself
            return [make(self.rng, self.me)], None
        if self.tale and kind < 0.36:
            return [stories.recall(self.rng, self.tale, question)
                    for question in stories.some_questions(self.rng, self.tale, 1)], None
        turns = self.single_turns()
        if turns[-1].answer.endswith(smalltalk.OFFER) and self.rng.random() < 0.5:
            tale = stories.story(self.rng, self.names)
            yes = self.rng.choice(("Yes, please.", "Yes", "Please do!", "OK", "Yes, tell me a story.", "Sure"))
            return [*turns, Question("telling", yes, tale.text, is_story=True)], tale
        return turns, None

    def memory_turns(self) -> list[Question]:
        fact = self.rng.choice(list(smalltalk.FACTS))
        if fact in self.facts or self.rng.random() < 0.2:
            return [smalltalk.ask_fact(self.rng, fact, self.facts)]
        told, self.facts[fact] = smalltalk.tell_fact(self.rng, fact)
        between = self.single_turns() if self.rng.random() < 0.4 else []
        return [told, *between, smalltalk.ask_fact(self.rng, fact, self.facts)]

    def single_turns(self) -> list[Question]:
        first = self.rng.choices(SINGLE_MAKERS, SINGLE_WEIGHTS)[0](self.rng)
        if first.kind in ("addition", "subtraction") and self.rng.random() < 0.3:
            return [first, arithmetic.follow_up(self.rng, int(first.brief))]
        if first.kind == "weekday" and " day of " not in first.answer and first.brief and self.rng.random() < 0.3:
            return [first, calendar_questions.what_about(self.rng, first)]
        return [first]

    def answer(self, turn: Question) -> str:
        return turn.brief if self.is_brief and turn.brief else turn.answer

    def messages(self) -> list[dict]:
        """The chat in the usual form. An assistant's story carries "story": true."""
        found: list[dict] = [{"role": "system", "content": self.system}] if self.system else []
        for turn in self.turns:
            found.append({"role": "user", "content": casual(self.rng, turn.text)})
            if turn.calls:
                functions = [{"name": call.name, "arguments": call.arguments} for call in turn.calls]
                found.append({"role": "assistant", "content": "",
                              "tool_calls": [{"type": "function", "function": function} for function in functions]})
                found += [{"role": "tool", "content": call.result} for call in turn.calls]
            found.append({"role": "assistant", "content": self.answer(turn)} | ({"story": True} if turn.is_story else {}))
        return found


class ToolChat(Chat):
    """A chat that offers tools: most turns need one of them, the others are as without tools."""

    def __init__(self, rng):
        super().__init__(rng)
        self.box = Toolbox(rng)

    def topic(self) -> tuple[list[Question], stories.Story | None]:
        turn = tool_turns.tool_turn(self.rng, self.box) if self.rng.random() < 0.7 else None
        if turn is None:
            return self.topic_without_tools()
        if turn.kind == "calculator" and turn.brief and self.rng.random() < 0.2:
            return [turn, tool_turns.follow_up(self.rng, self.box, turn.brief)], None
        return [turn], None

    def topic_without_tools(self) -> tuple[list[Question], stories.Story | None]:
        """A topic whose turns need nothing that the box offers."""
        while True:
            facts = dict(self.facts)
            turns, tale = super().topic()
            if not any(map(self.needs_tool, turns)):
                return turns, tale
            self.facts = facts

    def needs_tool(self, turn: Question) -> bool:
        if self.box.can_compute() and turn.kind in COMPUTED:
            return True
        return turn.kind == "outside" and bool(self.box.clock or self.box.weather) and bool(TOLD_BY_TOOLS.search(turn.text))


class StructuredChat(Chat):
    """A chat whose answers are mostly wanted as JSON."""

    def topic(self) -> tuple[list[Question], stories.Story | None]:
        return ([structured.structured_turn(self.rng)], None) if self.rng.random() < 0.8 else super().topic()


def training_document(rng) -> dict:
    """A chat, {"messages": [...]}, with {"tools": [...]} where it offers some, or a story without one, {"text": ...}.

    None shows anything held out.
    """
    kind = rng.random()
    if kind < 0.03:
        return {"text": stories.story(rng).text}
    if kind < 0.29:
        chat = ToolChat(rng)
        grow(chat, rng.choice((1, 1, 1, 1, 2, 2, 3, 4, 6)))
        return {"tools": chat.box.tools(), "messages": chat.messages()}
    if kind < 0.37:
        chat = StructuredChat(rng)
        grow(chat, rng.choice((1, 1, 2, 3, 4)))
        return {"messages": chat.messages()}
    chat = Chat(rng)
    grow(chat, rng.choice((1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8, 12, 20)))
    return {"messages": chat.messages()}


def grow(chat: Chat, count: int) -> None:
    while len(chat.turns) < count:
        chat.add_topic(shows_held_out)


def held_out_lines(rng, per_kind: int) -> Iterator[dict]:
    """For each kind `per_kind` chats that end in a held-out question: {"kind", "messages", "answer"}.

    What stands before the last question shows nothing held out. Questions under a system turn that asks for short
    answers are a kind of their own.
    """
    missing = dict.fromkeys(KINDS, per_kind)
    seen = set()
    while any(missing.values()):
        chat = Chat(rng)
        if rng.random() < 0.25:
            chat.add_topic(shows_held_out)
        last = chat.add_topic(shows_held_out)
        if last is None or not asks_held_out(last) or last.keys[0] in seen:
            continue
        kind = "brief" if chat.is_brief and last.brief else last.kind
        if missing[kind]:
            missing[kind] -= 1
            seen.add(last.keys[0])
            chat.turns.append(last)
            messages = plain(chat.messages())
            yield {"kind": kind, "messages": messages[:-1], "answer": messages[-1]["content"]}


def plain(messages: list[dict]) -> list[dict]:
    """The messages without the marks that only training reads."""
    return [{key: value for key, value in message.items() if key != "story"} for message in messages]


def tool_lines(rng, per_kind: int) -> Iterator[dict]:
    """As `held_out_lines`, of chats with tools or with answers as JSON; a line of the former has their "tools".

    A turn with calls is asked for both, its calls and then its answer.
    """
    missing = dict.fromkeys(TOOL_KINDS, per_kind)
    seen = set()
    while any(missing.values()):
        chat = (StructuredChat if rng.random() < 0.1 else ToolChat)(rng)
        if rng.random() < 0.35:
            chat.add_topic(shows_held_out)
        last = chat.add_topic(shows_held_out)
        if last is None or not asks_held_out(last) or last.keys[0] in seen:
            continue
        before = len(chat.messages()) + 1  # the question's own message
        chat.turns.append(last)
        for kind, messages, answer in endings(chat, last, before):
            if missing.get(kind):
                missing[kind] -= 1
                seen.add(last.keys[0])
                tools = {"tools": chat.box.tools()} if isinstance(chat, ToolChat) else {}
                yield {"kind": kind, **tools, "messages": messages, "answer": answer}


def endings(chat: Chat, last: Question, question: int) -> Iterator[tuple[str, list[dict], str]]:
    """The kinds of lines that the chat's last turn gives, each with the messages before the answer and the answer."""
    messages = plain(chat.messages())
    if last.calls:
        calls = written([call["function"] for call in messages[question]["tool_calls"]])
        yield f"call_{last.kind}", messages[:question], calls
        yield f"result_{last.kind}", messages[:-1], messages[-1]["content"]
    elif last.kind == "json" or isinstance(chat, ToolChat):
        yield "json" if last.kind == "json" else "no_call", messages[:-1], messages[-1]["content"]
