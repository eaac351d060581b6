"""What a plot tells its story with: sentences with slots, and the facts that they state."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Character:
    name: str
    kind: str  # fox, girl, ...
    is_female: bool


@dataclass(frozen=True)
class Fact:
    questions: list[str]
    answer: str
    brief: str


# What no plot tells at all, and what is unknown unless a plot notes the topic.
NEVER_TOLD = ["What was the name of {A}'s mother?", "How many brothers did {A} have?", "What was {A}'s favourite song?",
              "What did {A} dream about?", "How tall was {A}?", "What colour were {A}'s eyes?"]
SOMETIMES_TOLD = {
    "food": ["What did {A} and {B} eat?", "What did they eat?"],
    "weather": ["What was the weather like?"],
    "home": ["Where did {A} live?"],
    "trait": ["What was {A} like?"],
    "age": ["How old was {A}?"],
    "clothes": ["What did {A} wear?", "What colour was {B}'s scarf?"],
    "skill": ["What did {A} want to learn?"],
    "race": ["Who won the race?"],
    "plants": ["What did {A} plant?"],
    "gift": ["What did {A} give {B}?"],
    "coins": ["How many coins did {A} have?"],
    "found": ["What did {A} find?"],
    "place": ["Where did {A} go?"],
    "lost": ["What did {A} lose?"],
}


class Teller:
    """Collects the sentences and the facts of one story.

    Every text may name slots: {A} and {B} are the names of the hero and the friend, {akind} and {bkind} what they are,
    {he} {him} {his} {He} stand for the hero; a plot adds its own.
    """

    def __init__(self, rng, hero: Character, friend: Character):
        self.rng, self.hero, self.friend = rng, hero, friend
        he, him, his = ("she", "her", "her") if hero.is_female else ("he", "him", "his")
        self.slots = {"A": hero.name, "B": friend.name, "akind": hero.kind, "bkind": friend.kind,
                      "he": he, "him": him, "his": his, "He": he.capitalize(), "His": his.capitalize()}
        self.sentences: list[str] = []
        self.facts: list[Fact] = []
        self.topics: set[str] = set()

    def fill(self, text: str) -> str:
        return text.format(**self.slots)

    def choose(self, slot: str, pool: list[str]) -> str:
        """Puts one of the pool into the slot, another one than what the story already names."""
        self.slots[slot] = self.rng.choice([item for item in pool if item not in self.slots.values()])
        return self.slots[slot]

    def say(self, *options: str) -> None:
        """Tells one of the options."""
        sentence = self.fill(self.rng.choice(options))
        self.sentences.append(sentence[0].upper() + sentence[1:])

    def note(self, topic: str, answer: str, brief: str, *questions: str) -> None:
        """Notes a fact that was just told, its full and its short answer and the questions that ask for it."""
        self.topics.add(topic)
        asked = [self.fill(question) for question in (*questions, *self.with_pronouns(questions))]
        self.facts.append(Fact(asked, self.fill(answer), self.fill(brief)))

    def with_pronouns(self, questions: tuple[str, ...]) -> list[str]:
        """Some of the questions with a pronoun for the hero, if it cannot mean the friend."""
        if self.hero.is_female == self.friend.is_female or self.rng.random() < 0.6:
            return []
        replaced = [re.sub(r"\b(did|was|is|does) \{A\}(?= (?!and)|\?)", r"\1 {he}", question).replace("{A}'s", "{his}")
                    for question in questions]
        return [new for new, old in zip(replaced, questions) if new != old]

    def unknown_questions(self) -> list[str]:
        open_topics = [questions for topic, questions in SOMETIMES_TOLD.items() if topic not in self.topics]
        return [self.fill(question) for questions in [NEVER_TOLD, *open_topics] for question in questions]
