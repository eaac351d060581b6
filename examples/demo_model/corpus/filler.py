"""Long texts that have nothing to do with a question: what agent programs put into the system turn, and what users paste."""

import json
from collections.abc import Callable

from . import stories, words
from .filler_words import (ADJECTIVES, ADVERBS, EXTENSIONS, LANGUAGES, NOUNS, SENTENCES, TAGS, TYPES, VERBS)

ODD = "{}[]()<>|/\\#*_-+=~^%$@!?:;,.'\"`&äöüßéèñçøåłπλ→≤✓•—“”你好мир日本"


def snake(rng, parts: int = 2) -> str:
    """The name of a function or a field."""
    names = [rng.choice(VERBS), *rng.choices(NOUNS, k=parts)] if rng.random() < 0.6 else rng.choices(NOUNS, k=parts)
    return "_".join(names[:parts])


def path(rng) -> str:
    folders = "/".join(rng.choices(NOUNS, k=rng.randrange(1, 4)))
    return f"{rng.choice(('', '/', './', '~/'))}{folders}/{snake(rng)}.{rng.choice(EXTENSIONS)}"


def number(rng) -> int:
    return rng.randrange(10 ** rng.choice((1, 1, 2, 3, 4)))


def sentence(rng) -> str:
    """A sentence of instructions or descriptions, whose words are of chance."""
    form = rng.choice(SENTENCES)
    pieces = form.split("{")
    found = [pieces[0]]
    for piece in pieces[1:]:
        slot, _, rest = piece.partition("}")
        found.append(filled(rng, slot) + rest)
    text = "".join(found).replace("{", "(").replace("}", ")")
    return text[0].upper() + text[1:]


def filled(rng, slot: str) -> str:
    """A word for a slot of a sentence."""
    if slot in POOLS:
        return rng.choice(POOLS[slot])
    return {"D": lambda: rng.choice(ADVERBS).capitalize(), "an": lambda: rng.choice(("a", "the", "an")), "f": lambda: snake(rng),
            "x": lambda: words.invented_word(rng), "i": lambda: str(number(rng)), "p": lambda: path(rng),
            "u": lambda: url(rng)}[slot]()


POOLS = {"v": VERBS, "n": NOUNS, "a": ADJECTIVES, "d": ADVERBS}


def url(rng) -> str:
    return f"https://{words.invented_word(rng)}.{rng.choice(('org', 'com', 'dev'))}/{snake(rng)}"


def paragraph(rng) -> str:
    return " ".join(sentence(rng) for _ in range(rng.randrange(1, 7)))


def heading(rng) -> str:
    title = " ".join(rng.choices(NOUNS, k=rng.randrange(1, 4)))
    return rng.choice((f"## {title.title()}", f"# {title.title()}", f"### {title}", f"**{title.title()}**", title.upper() + ":",
                       f"=== {title} ===", "---"))


def bullets(rng) -> str:
    mark, count = rng.choice(("- ", "* ", "1", "  - ", "• ")), rng.randrange(2, 10)
    lines = [sentence(rng) if rng.random() < 0.7 else f"**{rng.choice(NOUNS)}**: {sentence(rng)}" for _ in range(count)]
    return "\n".join(f"{i + 1}. {line}" if mark == "1" else mark + line for i, line in enumerate(lines))


def value(rng, depth: int = 2):
    """A value of JSON."""
    kind = rng.random()
    if depth and kind < 0.25:
        return {snake(rng, rng.choice((1, 2))): value(rng, depth - 1) for _ in range(rng.randrange(1, 6))}
    if depth and kind < 0.4:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return rng.choice((lambda: rng.choice(NOUNS), lambda: sentence(rng), lambda: number(rng), lambda: rng.random() < 0.5,
                       lambda: None, lambda: path(rng), lambda: f"{number(rng)}.{number(rng)}"))()


def json_block(rng) -> str:
    text = json.dumps({snake(rng, rng.choice((1, 2))): value(rng) for _ in range(rng.randrange(1, 8))},
                      indent=rng.choice((None, None, 2, 4)))
    return rng.choice((text, f"```json\n{text}\n```", f"{sentence(rng)}\n{text}"))


def code_line(rng) -> str:
    name, other = snake(rng), snake(rng)
    return rng.choice((
        f"{name} = {other}({rng.choice(NOUNS)}, {number(rng)})", f"def {name}({other}: {rng.choice(TYPES)}) -> {rng.choice(TYPES)}:",
        f"    return {other}[{number(rng)}]", f"    if {name} != \"{rng.choice(NOUNS)}\":", f"// {sentence(rng)}", f"# {sentence(rng)}",
        f"import {name}", f"const {name} = await {other}();", f"for {rng.choice('ijkxyz')} in {name}:", f"    {name}.{other}()", "}", "",
        f"{rng.choice('+-')} {name}: {number(rng)}", f"$ {rng.choice(VERBS)} --{other} {path(rng)}", f"SELECT {name} FROM {other};",
        f"    print(\"{sentence(rng)}\")", f"@{name}", f"{name} += {number(rng)} * {other}"))


def code_block(rng) -> str:
    lines = "\n".join(code_line(rng) for _ in range(rng.randrange(2, 14)))
    return f"```{rng.choice(LANGUAGES)}\n{lines}\n```" if rng.random() < 0.7 else lines


def tagged(rng) -> str:
    tag = rng.choice(TAGS)
    return f"<{tag}>\n{rng.choice((paragraph, bullets, code_block, json_block))(rng)}\n</{tag}>"


def dialogue(rng) -> str:
    """An example of a talk, which is none that goes on."""
    me, you = rng.choice((("User", "Assistant"), ("user", "assistant"), ("Q", "A"), ("Task", "Action"), ("Human", "AI"),
                          ("Question", "Thought"), ("Input", "Output")))
    lines = [f"{me}: {rng.choice((sentence, told))(rng)}\n{you}: {rng.choice((sentence, json_block))(rng)}"
             for _ in range(rng.randrange(1, 4))]
    return "Example:\n" + "\n".join(lines)


def told(rng) -> str:
    """Something about people, which no question of the chat is about."""
    name = rng.choice(words.GIRLS + words.BOYS)
    return rng.choice((f"{name} has {words.a(rng.choice(words.THINGS))}.", f"{name} is {number(rng)} years old.", f"Where is {name}?",
                       f"{name} went to the {rng.choice(words.PLACES)}.", f"Find the {rng.choice(NOUNS)} of {name}.",
                       f"{name} ate {rng.choice(words.FOODS)} on {rng.choice(words.DAYS)}."))


def listing(rng) -> str:
    return "\n".join(path(rng) for _ in range(rng.randrange(3, 15)))


def table(rng) -> str:
    columns = rng.randrange(2, 5)
    rows = [rng.choices(NOUNS, k=columns), ["---"] * columns]
    rows += [[rng.choice((rng.choice(NOUNS), str(number(rng)), rng.choice(ADJECTIVES))) for _ in range(columns)]
             for _ in range(rng.randrange(2, 8))]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def noise(rng) -> str:
    """Words that no language has, letters, ids and signs."""
    makers: list[Callable] = [lambda: words.invented_word(rng), lambda: "".join(rng.choices(words.LETTERS, k=rng.randrange(1, 20))),
                              lambda: "".join(rng.choices(ODD, k=rng.randrange(1, 4))), lambda: rng.choice(NOUNS),
                              lambda: str(number(rng))]
    kinds = [makers[3], *rng.sample(makers, rng.randrange(1, len(makers) + 1))]
    return " ".join(rng.choice(kinds)() for _ in range(rng.randrange(4, 50)))


def tale(rng) -> str:
    return stories.story(rng).text


MAKERS = [paragraph, paragraph, paragraph, bullets, bullets, heading, json_block, code_block, tagged, dialogue, listing, table, noise,
          tale]


def text(rng, size: int) -> str:
    """About `size` characters, in parts of a few kinds that this text has."""
    kinds = rng.sample(MAKERS, rng.randrange(1, len(MAKERS) + 1))
    gap = rng.choice(("\n\n", "\n\n", "\n", "\n", " "))
    parts: list[str] = []
    length = 0
    while length < size:
        part = rng.choice(kinds)(rng)
        parts.append(part[:size - length + 80])
        length += len(parts[-1]) + len(gap)
    return gap.join(parts)
