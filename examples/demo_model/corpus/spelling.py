"""Spelling words, counting their letters, and counting or choosing among words and items.

The model sees pieces of words, not letters, so the answers spell first and count then. Real words are basic facts: the
model has to have met them. What is held out are invented words.
"""

import string

from . import words
from .question import Question, normalized, prefixed

STORY_WORDS = [word for word in {w.lower(): None for w in [
    *words.GIRLS, *words.BOYS, *words.ANIMALS, *words.PLACES, *words.THINGS, *words.COLOURS, *words.FOODS, *words.PLANTS,
    *words.GOODS, *words.DAYS, *words.MONTHS]} if " " not in word]
HOW_LONG = """How many letters are in {w}?|How many letters does {w} have?|Count the letters in {w}.
|How many letters are there in the word {w}?|How long is the word {w}?""".replace("\n", "").split("|")
HOW_OFTEN = """How many times does the letter {c} appear in {w}?|How many {c}'s are in {w}?|How often is {c} in the word {w}?
|How many times is the letter {c} in {w}?|Count the letter {c} in {w}.|How many {c}s are there in {w}?
""".replace("\n", "").split("|")
SPELL = """Spell {w}.|How do you spell {w}?|Can you spell {w}?|Please spell the word {w}.|Spell the word {w}
|How is {w} spelled?""".replace("\n", "").split("|")
BACKWARDS = """Spell {w} backwards.|What is {w} backwards?|Write {w} backwards.|Can you reverse the word {w}?
|Reverse {w}.""".replace("\n", "").split("|")
EDGE = """What is the {e} letter of {w}?|Which letter does {w} {v} with?|What letter does the word {w} {v} with?
|Tell me the {e} letter of the word {w}.""".replace("\n", "").split("|")
WORD_COUNT = """How many words are in this sentence: {s}|Count the words: {s}|How many words does this have? {s}
|How many words are there in "{s}"?""".replace("\n", "").split("|")
ALPHABET = ["Say the alphabet.", "What is the alphabet?", "Recite the alphabet.", "List the letters of the alphabet.",
            "Tell me the alphabet.", "Can you say the alphabet?"]
NEXT_LETTER = """What letter comes {w} {c}?|Which letter comes {w} {c}?|Which letter is {w} {c} in the alphabet?
|What comes {w} {c} in the alphabet?|Which letter is right {w} {c}?""".replace("\n", "").split("|")
ITEM_COUNT = """How many items are in this list: {s}?|Count the items: {s}|How many things are in the list {s}?
|How many items are these? {s}""".replace("\n", "").split("|")
NTH_ITEM = """What is the {n} item in this list: {s}?|Which is the {n} word in the list {s}?|In the list {s}, what comes {n}?
|Tell me the {n} item of {s}""".replace("\n", "").split("|")


def word_to_spell(rng) -> tuple[str, tuple[str, ...]]:
    """A word and its key."""
    source = rng.random()
    if source < 0.4:
        return rng.choice(STORY_WORDS if source < 0.2 else words.SPELLED), ()
    word = words.invented_word(rng)
    return word, (f"word {word}",)


def shown(rng, word: str) -> str:
    """The word as it may stand in a question."""
    word = word.capitalize() if word.capitalize() in words.PROPER and rng.random() < 0.8 else word
    return rng.choice((word, word, word, f'"{word}"'))


def spelled(word: str) -> str:
    return "-".join(word)


def spelling(rng) -> Question:
    word, keys = word_to_spell(rng)
    text = shown(rng, word)
    kind = rng.randrange(4)
    if kind < 2:
        return Question("spelling", rng.choice(SPELL).format(w=text), spelled(word), keys)
    if kind == 2:
        return Question("spelling", rng.choice(BACKWARDS).format(w=text),
                        f"{spelled(word)} backwards is {spelled(word[::-1])}.", keys)
    edge, verb, letter = rng.choice((("first", "start", word[0]), ("last", "end", word[-1])))
    return Question("spelling", rng.choice(EDGE).format(w=text, e=edge, v=verb),
                    f"{spelled(word)} {verb}s with {letter}.", keys)


def letters(rng) -> Question:
    word, keys = word_to_spell(rng)
    text = shown(rng, word)
    if rng.random() < 0.5:
        return Question("letters", rng.choice(HOW_LONG).format(w=text),
                        f"{spelled(word)} has {words.count_of(len(word), 'letters')}.", keys)
    letter = rng.choice(word if rng.random() < 0.85 else string.ascii_lowercase)
    times = words.count_of(word.count(letter), "times")
    return Question("letters", rng.choice(HOW_OFTEN).format(c=letter, w=text),
                    f"{spelled(word)} has the letter {letter} {times}.", keys)


def alphabet(rng) -> Question:
    """Which letter comes next or before, and the alphabet itself."""
    if rng.random() < 0.1:
        text, keys = prefixed(rng, rng.choice(ALPHABET))
        return Question("alphabet", text, ", ".join(string.ascii_lowercase), keys)
    word, sign = rng.choice((("after", 1), ("before", -1)))
    letters = string.ascii_uppercase if rng.random() < 0.7 else string.ascii_lowercase
    place = rng.randrange(25) + (sign < 0)
    text, keys = prefixed(rng, rng.choice(NEXT_LETTER).format(w=word, c=letters[place]))
    other = letters[place + sign]
    return Question("alphabet", text, f"{other} comes {word} {letters[place]}.", keys, other)


def sentence(rng) -> str:
    """A sentence of three to eleven words."""
    first, second = rng.sample(words.ANIMALS, 2)
    parts = ["The", *rng.sample(words.COLOURS + words.TRAITS, rng.randrange(3)), first,
             rng.choice(("sleeps", "runs", "waits", "sings", "plays", "eats"))]
    if rng.random() < 0.5:
        parts += rng.choice((["near", "the", second], ["with", "the", second], ["and", "the", second, "laughs"]))
    if rng.random() < 0.4:
        parts += rng.choice((["today"], ["all", "day"], ["every", rng.choice(words.TIMES)], ["in", "the", "rain"]))
    return " ".join(parts) + "."


def item_count(rng) -> Question:
    if rng.random() < 0.5:
        text = sentence(rng)
        return Question("words_and_items", rng.choice(WORD_COUNT).format(s=text),
                        f"There are {len(text.split())} words.", (normalized(text),), f"{len(text.split())}")
    pool = words.THINGS + words.ANIMALS + words.GOODS
    items = rng.sample(pool, rng.randrange(2, 10))
    text = ", ".join(items)
    if rng.random() < 0.5:
        return Question("words_and_items", rng.choice(ITEM_COUNT).format(s=text), f"There are {len(items)} items.",
                        (normalized(text),), f"{len(items)}")
    place = rng.choice((*range(len(items)), len(items) - 1))
    name = "last" if place == len(items) - 1 and rng.random() < 0.5 else words.ORDINALS[place]
    return Question("words_and_items", rng.choice(NTH_ITEM).format(n=name, s=text), f"The {name} item is {items[place]}.",
                    (normalized(text),), items[place])
