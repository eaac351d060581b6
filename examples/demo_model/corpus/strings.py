"""Answers as JSON whose strings are free: summaries, reasons, titles, lists of tags, in objects of many shapes.

What stands in a field follows from its name: what the answer is, what it is about, what the text says, or that it is unknown. The
prompt may have the schema, only the names, only the wish for JSON, or nothing at all, where a runtime holds the model to a schema
that its prompt does not show.
"""

import json
import re
from dataclasses import dataclass, field

from . import filler, stories, words
from .question import Call, Question, casual, normalized
from .smalltalk import DO_NOT_KNOW
from .structured import PERSON, POOLS, asked, schema
from .toolbox import titled

ANSWERS = """answer response text content message reply explanation reasoning reason thought thinking summary description analysis
comment note details body statement justification rationale observation output result final_answer""".split()
BRIEFS = "value result output final_answer number short_answer brief".split()
TOPICS = "topic category type kind subject theme intent title title".split()
LISTS = "steps sentences facts points reasons answers texts results lines".split()
TAG_LISTS = "tags keywords topics categories labels".split()
ASKED = "question query input request prompt".split()
TRUTHS = "ok valid success is_valid known done relevant".split()
SCORES = "confidence score rating probability relevance".split()
TEXTS = {*ASKED, "text", "content", "body", "message", "note", "expression", "expr", "answer"}  # arguments that take the user's text
USUAL = "name age city email address phone date time author year price id url language country status priority".split()
WISHES = ["{t} Answer in JSON.", "{t} Reply with a JSON object.", "{t}\nRespond with valid JSON only.", "Answer in JSON. {t}",
          "{t} (as JSON)", "{t} Use JSON.", "Give me JSON. {t}", "{t}\n\nReturn only JSON."]
SYSTEMS = ["Answer in JSON that follows this schema: {s}", "Parse the text into JSON of this schema:\n{s}",
           "Your answers are JSON that is valid for the following schema.\n\n```json\n{s}\n```",
           "The output is a JSON instance that conforms to the JSON schema below.\n{s}",
           "Understand the content and give the object as JSON by this schema:\n\n{s}\n\nGive an instance, not the schema."]
EXTRACTS = ["Extract the person: {t}", "{t}", "{t}", "Extract: {t}", "Parse this: {t}", "Read this text and fill in the fields. {t}",
            "Extract the data from this text: {t}", "Who is this about? {t}"]
RECORDS = "Person User UserInfo person extract extract_person save_person record final_result Profile UserDetail response".split()
RECORD_TEXTS = ["Extracts a person.", "The final response.", "Saves what is known of a person.", "Takes the extracted fields.",
                "Information about a user.", "The answer with all of its fields."]
STRINGS = {"type": "array", "items": {"type": "string"}}
# Names that say what stands in a field.
KNOWN = {*ANSWERS, *BRIEFS, *TOPICS, *LISTS, *TAG_LISTS, *ASKED, *TRUTHS, *SCORES, "number", "story", "names", "characters", "hero",
         "friend", "beginning", "ending", "person", "user", "who", *(key for _, keys, _ in PERSON.values() for key in keys)} - {"age"}


@dataclass
class Source:
    """What the fields of an object are filled with."""

    text: str  # what the user writes
    answer: str
    topic: str
    brief: str | None = None
    told: dict[str, object] = field(default_factory=dict)  # by the name of a field
    tags: list[str] = field(default_factory=list)
    is_story: bool = False
    keys: tuple[str, ...] = ()


def of_turn(rng, turn: Question) -> Source:
    topic = turn.kind.replace("_", " ")
    return Source(casual(rng, turn.text), turn.answer, topic, turn.brief, tags=[topic], is_story=turn.is_story, keys=turn.keys)


def of_person(rng) -> Source:
    """Facts about one person."""
    name = words.invented_name(rng) if rng.random() < 0.3 else rng.choice(words.GIRLS + words.BOYS)
    facts = rng.sample(list(PERSON), rng.choice((1, 1, 2, 2, 3)))
    values = {fact: rng.randrange(1, 100) if PERSON[fact][2] == "integer" else rng.choice(POOLS[fact]) for fact in facts}
    sentences = [rng.choice(PERSON[fact][0]).format(N=name, v=values[fact]) for fact in facts]
    told = {key: values[fact] for fact in facts for key in PERSON[fact][1]}
    told |= dict.fromkeys(("name", "person", "who", "user", "full_name", "title"), name)
    return Source(rng.choice(EXTRACTS).format(t=" ".join(sentences)), sentences[0], "person", told=told, tags=["person", *facts])


def of_story(rng) -> Source:
    """A story that the user tells."""
    tale = stories.story(rng)
    sentences = re.split(r"(?<=\.) ", tale.text)
    names = {"title": f"{tale.names[0]} and {tale.names[1]}", "ending": sentences[-1], "beginning": sentences[0],
             "hero": tale.names[0], "friend": tale.names[1], "characters": list(tale.names), "names": list(tale.names)}
    form = rng.choice(("Summarise this story: {s}", "{s}", "Describe this text. {s}", "Read this:\n\n{s}", "What is this about? {s}"))
    return Source(form.format(s=tale.text), sentences[0], "story", told=names, tags=["story", *tale.names])


def of_wish(rng) -> Source:
    """A story that the model tells."""
    tale = stories.story(rng)
    text = rng.choice(stories.ASK_FOR_STORY).format(t=tale.title)
    names = {"title": f"{tale.names[0]} and {tale.names[1]}", "story": tale.text, "characters": list(tale.names)}
    return Source(text, tale.text, "story", told=names, tags=["story", *tale.names], is_story=True)


def named_field(rng, source: Source) -> tuple[str, dict, object]:
    """The name of a field, its schema and its value."""
    name, kind, value = told_field(rng, source) if source.told and rng.random() < 0.6 else any_field(rng, source)
    return typed(name, source.told[name]) if name in source.told else (name, kind, value)


def told_field(rng, source: Source) -> tuple[str, dict, object]:
    name = rng.choice(list(source.told))
    return typed(name, source.told[name])


def typed(name: str, value) -> tuple[str, dict, object]:
    if isinstance(value, list):
        return name, STRINGS, value
    return name, {"type": "integer" if isinstance(value, int) else "string"}, value


def any_field(rng, source: Source) -> tuple[str, dict, object]:
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(ANSWERS), {"type": "string"}, source.answer
    if source.brief and kind < 0.55:
        if re.fullmatch(r"-?\d+", source.brief) and rng.random() < 0.6:
            return rng.choice(BRIEFS[:5]), {"type": rng.choice(("integer", "number"))}, int(source.brief)
        return rng.choice(BRIEFS[5:]), {"type": "string"}, source.brief
    return rng.choice(OTHER_FIELDS)(rng, source)


def unknown_field(rng, _: Source) -> tuple[str, dict, object]:
    """One that nothing in the prompt speaks of."""
    makers = (lambda: filler.snake(rng), lambda: rng.choice(filler.NOUNS), lambda: words.invented_word(rng), lambda: rng.choice(USUAL))
    while (name := rng.choice(makers)()) in KNOWN:
        pass
    return rng.choice(((name, {"type": "string"}, "unknown"), (name, {"type": "string"}, "unknown"), (name, {"type": "integer"}, 0),
                       (name, {"type": "boolean"}, False), (name, STRINGS, []), (name, {**STRINGS, "minItems": 1}, ["unknown"])))


def listed_field(rng, source: Source) -> tuple[str, dict, object]:
    """The answer's sentences, or the tags."""
    if rng.random() < 0.5:
        return rng.choice(LISTS), STRINGS, re.split(r"(?<=\.) ", source.answer)
    return rng.choice(TAG_LISTS), STRINGS, source.tags


def asked_field(rng, source: Source) -> tuple[str, dict, object]:
    """The user's text again, if it is short."""
    if len(source.text) > 120:
        return listed_field(rng, source)
    return rng.choice(ASKED), {"type": "string"}, source.text


OTHER_FIELDS = [
    unknown_field, unknown_field, listed_field, asked_field,
    lambda rng, source: (rng.choice(TOPICS), {"type": "string"}, source.topic),
    lambda rng, source: (rng.choice(TOPICS), {"type": "string"}, source.topic),
    lambda rng, _: (rng.choice(TRUTHS), {"type": "boolean"}, True), lambda rng, _: (rng.choice(SCORES), {"type": "number"}, 1)]


def object_of(rng, source: Source, depth: int = 0) -> tuple[dict, dict]:
    """The schemas of an object's fields, and its values."""
    schemas, values = {}, {}
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 5)) if depth == 0 else rng.choice((1, 2, 2, 3))):
        name, kind, value = named_field(rng, source)
        if depth < 2 and rng.random() < 0.07:
            name, kind, value = nested_field(rng, source, depth)
        if name not in values and not (source.is_story and len(json.dumps(value)) > 200 and len(json.dumps(values)) > 200):
            described = {"description": rng.choice((f"The {name}.", filler.sentence(rng)))} if rng.random() < 0.15 else {}
            schemas[name], values[name] = {**kind, **described}, value
    return schemas, values


def nested_field(rng, source: Source, depth: int) -> tuple[str, dict, object]:
    """An object in the object, or a list of one."""
    schemas, values = object_of(rng, source, depth + 1)
    inner = {"type": "object", "properties": schemas, "required": list(schemas)}
    name = rng.choice(("data", "item", "details", "person", "result", "entry", "record"))
    return rng.choice(((name, inner, values), (name + "s", {"type": "array", "items": inner}, [values])))


def source_of(rng, single_turn) -> Source:
    kind = rng.random()
    if kind < 0.3:
        return of_person(rng)
    if kind < 0.4:
        return of_story(rng)
    if kind < 0.44:
        return of_wish(rng)
    if kind < 0.5:
        return Source(filler.paragraph(rng), DO_NOT_KNOW, "unknown", tags=["unknown"])
    return of_turn(rng, single_turn(rng))


def strings_turn(rng, single_turn, is_asked: bool | None = None) -> Question:
    """A question whose answer is JSON. `single_turn` makes an ordinary question; `is_asked` says whether the prompt tells what the
    answer must look like."""
    source = source_of(rng, single_turn)
    schemas, values = object_of(rng, source)
    answer = json.dumps(values, ensure_ascii=False)
    text = normalized(source.text)
    keys = (f"strings {text}", text, *source.keys)
    kind = rng.random() if is_asked is None else rng.random() * 0.4 if is_asked else 0.4 + rng.random() * 0.6
    if kind < 0.28:
        return Question("strings", asked(rng, source.text, schemas), answer, keys, is_story=source.is_story)
    if kind < 0.4:
        system = rng.choice(SYSTEMS).format(s=schema(rng, schemas))
        return Question("strings", source.text, answer, keys, is_story=source.is_story, system=system)
    if kind < 0.55:
        return Question("begun", rng.choice(WISHES).format(t=source.text), answer, keys, is_story=source.is_story, forced=0)
    return Question("begun", source.text, answer, keys, is_story=source.is_story, forced=2)


def record_call(rng) -> tuple[dict, Question]:
    """A tool that takes what a text says of a person, and the question that calls it."""
    source = of_person(rng)
    schemas, values = object_of(rng, source)
    name = rng.choice(RECORDS) if rng.random() < 0.8 else filler.snake(rng)
    parameters = {"type": "object", "properties": schemas, "required": list(schemas)}
    if rng.random() < 0.5:
        parameters = {"properties": {key: {"title": titled(key), **kind} for key, kind in schemas.items()}, "required": list(schemas),
                      "title": name, "type": "object"}
    function = {"name": name, "description": rng.choice(RECORD_TEXTS), "parameters": parameters}
    text = normalized(source.text)
    return function, Question("record", source.text, "", (f"record {text}", text), calls=(Call(name, values, ""),))


def forced_call(rng, function: dict, turn: Question) -> Question:
    """A call of a function that the question has no need of, as a client may force it."""
    arguments = filled(function["parameters"], "", turn.text)
    begin = len('<tool_call>\n{"name": "' + function["name"])
    return Question("forced_call", turn.text, "", turn.keys, calls=(Call(function["name"], arguments, ""),), forced=begin)


def filled(schema: dict, name: str, text: str):
    """The plainest value of a schema: the user's text for what asks for a text, else nothing that is known."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return None
    if schema["type"] == "object":
        properties = schema.get("properties", {})
        return {key: filled(properties[key], key, text) for key in schema.get("required", []) if key in properties}
    if schema["type"] == "array":
        return [filled(schema["items"], name, text)] if schema.get("minItems") else []
    if schema["type"] == "string":
        return text if name in TEXTS and len(text) <= 120 else "unknown"
    return {"integer": 0, "number": 0, "boolean": False}[schema["type"]]
