"""Puts the questions of all kinds together into chats of one or many turns."""

import re
from collections.abc import Callable

from . import (arithmetic, calendar_questions, crowd, number_order, short_facts, smalltalk, spelling, stories, strings, structured,
               tool_turns, two_steps, words)
from .question import Question, casual
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

EXACT = {"strings", "begun", "record", "forced_call"}  # kinds whose answer may repeat the user's text
CALLS_ALONE = {"record", "forced_call"}
CROWDED = 0.05  # chats with tools that offer many of them
COMPUTED = set("addition subtraction multiplication word_problem follow_up three_numbers half_or_double too_hard".split())
TOLD_BY_TOOLS = re.compile(r"\b(time|day|date|weather)\b")


def single(rng) -> Question:
    """A turn that stands alone."""
    return rng.choices(SINGLE_MAKERS, SINGLE_WEIGHTS)[0](rng)


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
        first = single(self.rng)
        if first.kind in ("addition", "subtraction") and self.rng.random() < 0.3:
            return [first, arithmetic.follow_up(self.rng, int(first.brief))]
        if first.kind == "weekday" and " day of " not in first.answer and first.brief and self.rng.random() < 0.3:
            return [first, calendar_questions.what_about(self.rng, first)]
        return [first]

    def answer(self, turn: Question) -> str:
        return turn.brief if self.is_brief and turn.brief else turn.answer

    def messages(self) -> list[dict]:
        """The chat in the usual form. An assistant's story carries "story": true."""
        system = next((turn.system for turn in self.turns if turn.system), self.system)
        found: list[dict] = [{"role": "system", "content": system}] if system else []
        for turn in self.turns:
            found.append({"role": "user", "content": turn.text if turn.kind in EXACT else casual(self.rng, turn.text)})
            marks = ({"story": True} if turn.is_story else {}) | ({} if turn.forced is None else {"forced": turn.forced})
            for calls in turn.rounds():
                found.append(calling([(call.name, call.arguments) for call in calls]) | marks)
                found += [{"role": "tool", "content": call.result} for call in calls]
            found += [message | marks for message in self.said(turn)]
        while found and found[-1]["role"] == "tool":  # a call that ends the chat
            found.pop()
        return found

    def said(self, turn: Question) -> list[dict]:
        """The messages that give the turn's answer."""
        return [{"role": "assistant", "content": self.answer(turn)}] if turn.kind not in CALLS_ALONE else []


def calling(calls: list[tuple[str, dict]]) -> dict:
    """The assistant's message that makes these calls."""
    functions = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function} for function in functions]}


class ToolChat(Chat):
    """A chat that offers tools: most turns need one of them, the others are as without tools."""

    def __init__(self, rng):
        super().__init__(rng)
        self.box = Toolbox(rng, has_crowd=rng.random() < CROWDED)

    def topic(self) -> tuple[list[Question], stories.Story | None]:
        kind = self.rng.random()
        turn = two_steps.steps_turn(self.rng, self.box) if kind < 0.22 else None
        if turn is None and kind < 0.75:
            turn = tool_turns.tool_turn(self.rng, self.box)
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

    def said(self, turn: Question) -> list[dict]:
        """The answer, which a tool takes where one is offered for that."""
        if not self.box.final:
            return super().said(turn)
        name, argument = self.box.final
        answer = self.answer(turn)
        return [calling([(name, {argument: answer})]), {"role": "tool", "content": answer}]

    def tools(self) -> list[dict]:
        return self.box.tools()

    def needs_tool(self, turn: Question) -> bool:
        if self.box.can_compute() and turn.kind in COMPUTED:
            return True
        return turn.kind == "outside" and bool(self.box.clock or self.box.weather) and bool(TOLD_BY_TOOLS.search(turn.text))


class StructuredChat(Chat):
    """A chat whose answers are mostly wanted as JSON."""

    def topic(self) -> tuple[list[Question], stories.Story | None]:
        kind = self.rng.random()
        if kind < 0.35:
            return [structured.structured_turn(self.rng)], None
        if kind < 0.85:
            turn = strings.strings_turn(self.rng, single)
            if turn.system is None or not self.turns:
                return [turn], None
        return super().topic()


class CallChat(Chat):
    """One turn that ends in a call: of the one tool that takes what a text says, or of one that a client forces."""

    def __init__(self, rng):
        super().__init__(rng)
        self.functions: list[dict] = []

    def topic(self) -> tuple[list[Question], stories.Story | None]:
        if self.rng.random() < 0.6:
            function, turn = strings.record_call(self.rng)
            self.functions = [function]
            return [turn], None
        self.functions = Toolbox(self.rng).functions if self.rng.random() < 0.6 else []
        self.functions = self.functions or crowd.functions(self.rng, self.rng.choice((1, 1, 2, 3, 5)), set())
        return [strings.forced_call(self.rng, self.rng.choice(self.functions), single(self.rng))], None

    def tools(self) -> list[dict]:
        return [{"type": "function", "function": function} for function in self.functions]
