"""Codex, the program, with its default settings but for its sandbox, which wants privileges of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prompts import MODEL
from script_model import THINK_CLOSE, THINK_OPEN, calling, write_script_model
from waiting import PATIENCE_S
from weft_server import WeftServer

PROGRAM = shutil.which("codex", path=str(Path(sys.executable).parent))
if PROGRAM is None:
    pytest.skip("codex-bin is not installed", allow_module_level=True)

SECRET = "the harbour opens at 4711"
NOTE, COPY = "note.txt", "copy.txt"
DONE, FAILED = "The secret is copied to the other file.", "A tool has not done what it was asked for."
CONFIG = """
model = "{model}"
model_provider = "weft"

[model_providers.weft]
name = "Weft"
base_url = "{url}/v1"
"""

# For its own models Codex has another set of tools.
KNOWN_MODEL = "gpt-5.4"
PATCH = f"*** Begin Patch\n*** Add File: {COPY}\n+{SECRET}\n*** End Patch"

# A command is run; then a function of a namespace is called, which Codex knows: it says what is wrong with the argument.
# With the tools of its own model, a file is patched, and the function is searched for before it is called.
TEMPLATE = """{%- for tool in tools or [] %}{{ '<|turn|>' + (tool | tojson) }}{% endfor %}
{%- for m in messages %}{{ '<|turn|>' + m.role + ': ' + m.content }}
{%- for call in m.tool_calls or [] %}{{ '<tool_call>' + (call.function | tojson) + '</tool_call>' }}{% endfor %}
{%- endfor %}
{%- set results = messages | selectattr('role', 'equalto', 'tool') | list %}
{%- set names = (tools or []) | map(attribute='function.name') | list %}
{%- if not tools %}{{ '<|say_hello|>' }}
{%- elif 'apply_patch' in names and not results %}{{ '<|say_patch|>' }}
{%- elif 'apply_patch' in names and results | length == 1 %}
{{- '<|say_search|>' if 'Success' in results[0].content else '<|say_failed|>' }}
{%- elif 'apply_patch' in names and results | length == 2 %}
{{- '<|say_close|>' if 'multi_agent_v1__close_agent' in results[1].content else '<|say_failed|>' }}
{%- elif results and 'invalid agent id' in results[-1].content %}{{ '<|say_done|>' }}
{%- elif not results %}{{ '<|say_copy|>' }}
{%- elif 'SECRET' not in results[0].content %}{{ '<|say_failed|>' }}
{%- elif results | length == 1 %}{{ '<|say_close|>' }}
{%- else %}{{ '<|say_failed|>' }}
{%- endif %}{# thoughts stand in <think> and </think> #}""".replace("SECRET", SECRET)

TEXTS = {
    "<|say_hello|>": ["Nothing can be called here."],
    "<|say_copy|>": [THINK_OPEN, "\nA file is to be copied.\n", THINK_CLOSE, "\n\nLet me look.\n",
                     *calling("exec_command", {"cmd": f"cp {NOTE} {COPY} && cat {COPY}"})],
    "<|say_patch|>": calling("apply_patch", {"input": PATCH}),
    "<|say_search|>": calling("tool_search", {"query": "close an agent"}),
    "<|say_close|>": calling("multi_agent_v1__close_agent", {"target": "nobody"}),
    "<|say_done|>": [DONE],
    "<|say_failed|>": [FAILED],
}


# The model goes on behind its own tokens alone. Few rows, since each has room for a whole context.
AGENT = {"scheduling": {"jump_ahead": False}, "memory": {"max_rows": 4}}


@pytest.fixture(scope="module")
def agent_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeftServer]:
    model = write_script_model(tmp_path_factory.mktemp("agent") / MODEL, TEXTS, TEMPLATE, context=1 << 16)
    served = [{"name": MODEL, "path": str(model), "aliases": [KNOWN_MODEL]}]
    server = WeftServer(tmp_path_factory.mktemp("server"), {**AGENT, "models": served})
    yield server
    server.wait_until_idle()
    server.stop()
    server.expect_clean_log()


def codex(server: WeftServer, folder: Path, question: str, model: str = MODEL) -> list[Any]:
    """Returns the ended items that Codex reports in a folder with the note."""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    (work / NOTE).write_text(SECRET + "\n")
    (home / "config.toml").write_text(CONFIG.format(model=model, url=server.url))
    ran = subprocess.run([PROGRAM, "exec", "--json", "--skip-git-repo-check",
                          "--dangerously-bypass-approvals-and-sandbox", question], cwd=work, check=False,
                         capture_output=True, encoding="utf-8", timeout=4 * PATIENCE_S, stdin=subprocess.DEVNULL,
                         env={"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home),
                              "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"})
    assert ran.returncode == 0, ran.stdout + ran.stderr + server.log()
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    return [event["item"] for event in events if event["type"] == "item.completed"]


def answer_of(items: list[Any]) -> str:
    return [item["text"] for item in items if item["type"] == "agent_message"][-1]


def test_a_command_is_run_and_a_function_of_a_namespace_is_called(agent_server: WeftServer, tmp_path: Path) -> None:
    items = codex(agent_server, tmp_path, f"Copy what is in {NOTE} to {COPY}.")
    assert answer_of(items) == DONE
    commands = [item for item in items if item["type"] == "command_execution"]
    assert [(item["aggregated_output"], item["exit_code"]) for item in commands] == [(SECRET + "\n", 0)]
    assert (tmp_path / "work" / COPY).read_text() == SECRET + "\n"


def test_the_tools_of_its_own_models_are_called(agent_server: WeftServer, tmp_path: Path) -> None:
    items = codex(agent_server, tmp_path, f"Write what is in {NOTE} to {COPY}.", KNOWN_MODEL)
    assert answer_of(items) == DONE
    assert (tmp_path / "work" / COPY).read_text() == SECRET + "\n"
