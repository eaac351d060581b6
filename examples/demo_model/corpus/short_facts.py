"""A few short statements about several people, as somebody who tries the model out would write them, and a question."""

from . import words
from .question import Question

ROOMS = "kitchen garden bathroom bedroom office hall cellar attic garage".split()
# For each topic the sentence, the questions about the person N, their answer, and what is asked the other way round.
HAS = [(("{N} has {av}.", "{N} owns {av}."), ("What does {N} have?", "What does {N} own?"), "{N} has {av}.", "Who has {av}?"),
       (("{N} had {av}.",), ("What did {N} have?",), "{N} had {av}.", "Who had {av}?"),
       (("{N} found {av}.",), ("What did {N} find?",), "{N} found {av}.", "Who found {av}?"),
       (("{N} bought {av}.",), ("What did {N} buy?",), "{N} bought {av}.", "Who bought {av}?")]
OTHERS = [
    ("places", ("{N} is in the {v}.",), ("Where is {N}?",), "{N} is in the {v}.", "Who is in the {v}?"),
    ("places", ("{N} went to the {v}.", "{N} walked to the {v}."), ("Where did {N} go?", "Where is {N}?"), "{N} went to the {v}.",
     "Who went to the {v}?"),
    ("foods", ("{N} likes {v}.", "{N} loves {v}."), ("What does {N} like?", "Which food does {N} like?"), "{N} likes {v}.",
     "Who likes {v}?"),
    ("foods", ("{N} ate {v}.",), ("What did {N} eat?",), "{N} ate {v}.", "Who ate {v}?"),
    ("ages", ("{N} is {v} years old.",), ("How old is {N}?", "What is {N}'s age?"), "{N} is {v} years old.", "Who is {v} years old?"),
    ("kinds", ("{N} is a {v}.",), ("What is {N}?", "Who is {N}?"), "{N} is a {v}.", "Who is a {v}?"),
    ("skills", ("{N} can {v}.",), ("What can {N} do?",), "{N} can {v}.", "Who can {v}?"),
    ("traits", ("{N} is {v}.",), ("What is {N} like?", "How is {N}?"), "{N} is {v}.", "Who is {v}?")]
POOLS = {"places": [place for place in words.PLACES if place != "mountains"] + ROOMS, "foods": words.FOODS,
         "ages": [str(age) for age in range(3, 100)], "skills": words.SKILLS, "traits": words.TRAITS + words.GLAD + words.SAD,
         "kinds": [kind for kind in words.ANIMALS + words.ROLES if kind[0] not in "aeiou"]}


def things_of(rng, names: list[str]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """What each of the people has: the sentence, and (question, answer, short answer) for it."""
    sentences, questions, answer, who = rng.choice(HAS)
    has_colour = rng.random() < 0.7
    is_was = "is" if "has" in answer else "was"
    facts = []
    for name, thing, colour in zip(names, rng.sample(words.THINGS, 3), rng.sample(words.COLOURS, 3)):
        value = words.a(f"{colour} {thing}" if has_colour else thing)
        asked = [(question.format(N=name), answer.format(N=name, av=value), value) for question in questions]
        asked.append((who.format(av=value), answer.format(N=name, av=value), name))
        if has_colour:
            asked.append((f"What colour {is_was} {name}'s {thing}?", f"{name}'s {thing} {is_was} {colour}.", colour))
            asked.append((f"What colour {is_was} the {thing}?", f"The {thing} {is_was} {colour}.", colour))
        facts.append((rng.choice(sentences).format(N=name, av=value), asked))
    return facts


def others_of(rng, names: list[str]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    pool, sentences, questions, answer, who = rng.choice(OTHERS)
    facts = []
    for name, value in zip(names, rng.sample(POOLS[pool], 3)):
        told = answer.format(N=name, v=value)
        asked = [(rng.choice(questions).format(N=name), told, value), (who.format(v=value), told, name)]
        facts.append((rng.choice(sentences).format(N=name, v=value), asked))
    return facts


def short_facts(rng) -> Question:
    count = rng.randrange(1, 4)
    names = [words.invented_name(rng) if rng.random() < 0.2 else name for name in rng.sample(words.GIRLS + words.BOYS, count)]
    facts = things_of(rng, names) + (others_of(rng, names) if rng.random() < 0.6 else [])
    if rng.random() < 0.4:
        facts = others_of(rng, names)
    if rng.random() < 0.5:
        rng.shuffle(facts)
    text = " ".join(sentence for sentence, _ in facts)
    question, answer, brief = rng.choice(rng.choice(facts)[1])
    form = rng.choice(("{t} {q}", "{t} {q}", "{t}\n{q}", "{t}\n\n{q}", "{q} {t}"))
    return Question("short_facts", form.format(t=text, q=question), answer, (f"{text} {question}",), brief)
