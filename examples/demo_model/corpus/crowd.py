"""Tools in number, as agent programs offer them: up to thirty, with long texts and nested schemas, which no question needs."""

from . import filler
from .filler_words import NOUNS, VERBS

KINDS = ["string", "string", "string", "integer", "number", "boolean"]
DEEPEST = 3
LONGEST = 13000  # characters of all of them, so that a chat has room


def name(rng, style: str) -> str:
    """The name of a tool, in the style that all of a chat's have."""
    parts = [rng.choice(VERBS), *rng.choices(NOUNS, k=rng.choice((1, 1, 2)))]
    if style == "camel":
        return parts[0] + "".join(part.capitalize() for part in parts[1:])
    if style == "server":
        return f"mcp__{rng.choice(NOUNS)}__{'_'.join(parts)}"
    return "_".join(parts) if style == "snake" else "".join(part.capitalize() for part in parts)


def described(rng, schema: dict, is_titled: bool, field: str) -> dict:
    if is_titled:
        schema = {"title": field.replace("_", " ").title(), **schema}
    if rng.random() < 0.6:
        schema = {**schema, "description": filler.sentence(rng)}
    return schema


def schema_of(rng, depth: int, is_titled: bool) -> dict:
    """The schema of one argument."""
    kind = rng.random()
    if depth < DEEPEST and kind < 0.12:
        return object_of(rng, depth + 1, is_titled)
    if depth < DEEPEST and kind < 0.28:
        return {"type": "array", "items": schema_of(rng, depth + 1, is_titled)}
    if kind < 0.38:
        return {"type": "string", "enum": rng.sample(NOUNS, rng.randrange(2, 6))}
    if kind < 0.5:
        return {"anyOf": [{"type": rng.choice(KINDS)}, {"type": "null"}], "default": None}
    found = {"type": rng.choice(KINDS)}
    if kind < 0.6 and found["type"] in ("integer", "number"):
        return {**found, "default": filler.number(rng), "minimum": 0}
    return found


def object_of(rng, depth: int, is_titled: bool) -> dict:
    fields = [filler.snake(rng, rng.choice((1, 1, 2))) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 6) if depth == 0 else (1, 2, 3)))]
    properties = {field: described(rng, schema_of(rng, depth, is_titled), is_titled, field) for field in fields}
    found = {"type": "object", "properties": properties}
    if required := [field for field in properties if rng.random() < 0.6]:
        found["required"] = required
    if rng.random() < 0.3:
        found["additionalProperties"] = False
    return found


def functions(rng, count: int, taken: set[str]) -> list[dict]:
    """At most `count` functions, none of which has a name that is taken."""
    style = rng.choice(("snake", "snake", "snake", "camel", "server", "capital"))
    is_titled, longest = rng.random() < 0.3, rng.choice((1, 1, 2, 4, 8))
    found: list[dict] = []
    length = 0
    while len(found) < count and length < LONGEST:
        function = {"name": name(rng, style),
                    "description": " ".join(filler.sentence(rng) for _ in range(rng.randrange(1, longest + 1))),
                    "parameters": object_of(rng, 0, is_titled)}
        if function["name"] not in taken:
            taken.add(function["name"])
            found.append(function)
            length += len(str(function))
    return found
