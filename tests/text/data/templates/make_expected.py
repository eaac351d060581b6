#!/usr/bin/env python3
"""Renders with Python's jinja2, set up as transformers sets it up, what the tests compare with.

make_expected.py language [--check]               snippets.py              -> language.json
make_expected.py templates FOLDER [--check]       templates in FOLDER      -> expected.jsonl, conversations.json
make_expected.py show FOLDER TEMPLATE CONVERSATION                         -> the text, for a person

--check writes nothing and fails when the file would change. Needs PyPI's jinja2 and nothing else.
"""

import datetime
import json
import sys
from pathlib import Path

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

import conversations
import snippets

HERE = Path(__file__).parent
NOW = datetime.datetime(2026, 7, 4, 5, 6, 7)


class AssistantTracker(Extension):
    """{% generation %}, as transformers has it: the body becomes a call block, and its text passes through."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_pass_through"), [], [], body).set_lineno(line)

    def _pass_through(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[AssistantTracker, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    del env.globals["lipsum"]
    return env


def render(env, source, variables):
    """The text, or which kind of error there was."""
    try:
        template = env.from_string(source)
    except (jinja2.TemplateSyntaxError, SyntaxError):
        return {"error": "parse"}
    try:
        return {"output": template.render(**variables)}
    except Exception:  # Whatever Python says, ours fails too.
        return {"error": "render"}


def language():
    env = environment()
    rows = [{"template": text, **render(env, text, snippets.CONTEXT)} for text in snippets.SNIPPETS]
    parts = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{{"context": {json.dumps(snippets.CONTEXT, ensure_ascii=False)},\n"snippets": [\n{parts}\n]}}\n'


def templates(folder):
    """Name and source of every template in the folder."""
    for path in sorted(folder.glob("*.jinja")):
        yield path.name, path.read_text()
    for path in sorted(folder.glob("mistralrs_*.json")):
        yield path.name, json.loads(path.read_text())["chat_template"]
    for number, line in enumerate((folder / "ollama_templates.jsonl").read_text().splitlines()):
        for name, source in json.loads(line).items():
            yield f"ollama_templates.jsonl:{number}:{name}", source


def fnv1a(data):
    """FNV-1a, 64 bits: enough to tell texts apart that nobody makes collide."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def expected(folder):
    """A line for each template: each conversation's length and hash, or its error."""
    env = environment()
    for name, source in templates(folder):
        row = {}
        for conversation, variables in conversations.conversations():
            result = render(env, source, variables)
            if "output" in result:
                text = result["output"].encode()
                row[conversation] = f"{len(text)} {fnv1a(text):016x}"
            else:
                row[conversation] = result["error"]
        yield json.dumps({"template": name, "expected": row}, ensure_ascii=False) + "\n"


def put(name, text, check):
    path = HERE / name
    if not check:
        path.write_text(text)
    elif path.read_text() != text:
        sys.exit(f"{name} is not what jinja2 {jinja2.__version__} gives")


def main(arguments):
    check = "--check" in arguments
    arguments = [argument for argument in arguments if argument != "--check"]
    if arguments[:1] == ["language"]:
        put("language.json", language(), check)
    elif arguments[:1] == ["templates"] and len(arguments) == 2:
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(variables, ensure_ascii=False)}" for name, variables in conversations.conversations())
        put("conversations.json", f"{{{rows}}}\n", check)
        put("expected.jsonl", "".join(expected(Path(arguments[1]))), check)
    elif arguments[:1] == ["show"] and len(arguments) == 4:
        source = dict(templates(Path(arguments[1])))[arguments[2]]
        print(render(environment(), source, dict(conversations.conversations())[arguments[3]]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
