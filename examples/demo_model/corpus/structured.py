"""Questions whose answer is wanted as JSON, by a schema or by the names of the keys that the prompt gives."""

import json

from . import arithmetic, words
from .question import Question
from .toolbox import titled

PERSON = {  # what is told of a person: sentences, names of the key, the type
    "age": (["{N} is {v} years old.", "{N}'s age is {v}.", "{N}, who is {v}, is here."], ["age", "age", "years"], "integer"),
    "place": (["{N} lives in the {v}.", "{N} is at the {v}.", "{N} went to the {v}."], ["place", "location", "where"], "string"),
    "food": (["{N} likes {v}.", "{N} ate {v}.", "{N} loves {v}."], ["food", "food", "dish"], "string"),
    "thing": (["{N} has a {v}.", "{N} bought a {v}.", "{N} found a {v}."], ["thing", "object", "item"], "string"),
    "colour": (["{N}'s coat is {v}.", "{N} wears {v}.", "{N}'s favourite colour is {v}."], ["colour", "color"], "string"),
    "feeling": (["{N} is {v}.", "{N} feels {v}."], ["feeling", "mood"], "string"),
    "day": (["{N} comes on {v}.", "{N} was born on a {v}."], ["day", "weekday"], "string"),
    "count": (["{N} has {v} cookies.", "{N} bought {v} apples.", "{N} saw {v} birds."], ["count", "number", "amount"], "integer")}
POOLS = {"place": words.PLACES, "food": words.FOODS, "thing": [t for t in words.THINGS if t[0] not in "aeiou"],
         "colour": words.COLOURS, "feeling": words.GLAD + words.SAD, "day": words.DAYS}
NAMES = ["name", "name", "name", "person", "who"]
RESULTS = ["answer", "answer", "result", "value", "number"]
FORMS = ["{t} Answer in JSON with this schema: {s}", "{t}\nAnswer as JSON that matches this schema: {s}",
         "{t}\n\nUse this JSON schema: {s}", "Answer in JSON by this schema: {s}\n{t}",
         "{t} Reply with JSON that follows {s}", "{t} Schema: {s}"]
KEY_FORMS = ["{t} Answer in JSON with the keys {k}.", "{t} Give me a JSON object with {k}.", "{t} Reply as JSON with {k}.",
             "Answer in JSON with the keys {k}. {t}"]


def schema(rng, kinds: dict[str, dict]) -> str:
    """A schema of an object with these properties, in one of the usual shapes."""
    if rng.random() < 0.25:
        kinds = {name: {"title": titled(name), **kind} for name, kind in kinds.items()}
        found = {"properties": kinds, "required": list(kinds), "title": "Answer", "type": "object"}
    else:
        found = {"type": "object", "properties": kinds}
        if rng.random() < 0.7:
            found["required"] = list(kinds)
        if rng.random() < 0.3:
            found["additionalProperties"] = False
    return json.dumps(found, indent=2) if rng.random() < 0.1 else json.dumps(found)


def asked(rng, text: str, kinds: dict[str, dict]) -> str:
    """The text with the wish for JSON of these properties."""
    if rng.random() < 0.75 or len(kinds) > 3:
        return rng.choice(FORMS).format(t=text, s=schema(rng, kinds))
    return rng.choice(KEY_FORMS).format(t=text, k=words.listed([f'"{name}"' for name in kinds]))


def person(rng) -> Question:
    """Facts about one person; the schema asks for some of them, in an order of its own."""
    name = words.invented_name(rng) if rng.random() < 0.3 else rng.choice(words.GIRLS + words.BOYS)
    told = rng.sample(list(PERSON), rng.choice((1, 2, 2, 3, 3)))
    values = {fact: rng.randrange(1, 100) if PERSON[fact][2] == "integer" else rng.choice(POOLS[fact]) for fact in told}
    text = " ".join(rng.choice(PERSON[fact][0]).format(N=name, v=values[fact]) for fact in told)
    wanted = rng.sample(told, rng.randrange(1, len(told) + 1))
    fields = [("name", rng.choice(NAMES), name, "string")] if rng.random() < 0.75 else []
    fields += [(fact, rng.choice(PERSON[fact][1]), values[fact], PERSON[fact][2]) for fact in wanted]
    if rng.random() < 0.3:
        rng.shuffle(fields)
    kinds = {}
    for fact, key, value, kind in fields:
        kinds[key] = {"type": kind}
        if fact in ("colour", "feeling", "day") and rng.random() < 0.3:
            options = rng.sample([option for option in POOLS[fact] if option != value], 2) + [value]
            kinds[key] = {"type": "string", "enum": rng.sample(options, 3)}
    answer = json.dumps({key: value for _, key, value, _ in fields})
    return Question("json", asked(rng, text, kinds), answer, (f"json {text}",))


def several(rng) -> Question:
    """Facts of one kind about a few people, as a list of objects."""
    fact = rng.choice(list(PERSON))
    sentence, keys, kind = PERSON[fact]
    names = rng.sample(words.GIRLS + words.BOYS, rng.choice((2, 2, 3)))
    values = [rng.randrange(1, 100) if kind == "integer" else rng.choice(POOLS[fact]) for _ in names]
    text = " ".join(rng.choice(sentence).format(N=name, v=value) for name, value in zip(names, values))
    who, what, them = rng.choice(NAMES), rng.choice(keys), rng.choice(("people", "persons", "users", "items", "characters"))
    item = {"type": "object", "properties": {who: {"type": "string"}, what: {"type": kind}}, "required": [who, what]}
    answer = json.dumps({them: [{who: name, what: value} for name, value in zip(names, values)]})
    form = rng.choice(FORMS).format(t=text, s=schema(rng, {them: {"type": "array", "items": item}}))
    return Question("json", form, answer, (f"json {text}",))


def computed(rng) -> Question:
    """A sum or a difference within what the model computes alone."""
    turn = rng.choice((arithmetic.addition, arithmetic.addition, arithmetic.subtraction))(rng)
    key = rng.choice(RESULTS)
    text = asked(rng, turn.text, {key: {"type": rng.choice(("integer", "integer", "number"))}})
    return Question("json", text, json.dumps({key: int(turn.brief)}), turn.keys and (f"json {turn.keys[0]}", *turn.keys))


def checked(rng) -> Question:
    """Yes or no."""
    n, word = arithmetic.number(rng), rng.choice(("even", "odd"))
    key = rng.choice(("answer", word, "result"))
    text = asked(rng, f"Is {n} {word}?", {key: {"type": "boolean"}})
    keys = (f"json parity {n}", f"parity {n}") if n > 20 else ()
    return Question("json", text, json.dumps({key: (n % 2 == 0) == (word == "even")}), keys)


def structured_turn(rng) -> Question:
    return rng.choices((person, several, computed, checked), (7, 2, 3, 1))[0](rng)
