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

# A command is run; then a function of a namespace is called, which Codex knows: it says what is wrong with the argument.
TEMPLATE = """{%- for tool in tools or [] %}{{ '<|turn|>' + (tool | tojson) }}{% endfor %}
{%- for m in messages %}{{ '<|turn|>' + m.role + ': ' + m.content }}
{%- for call in m.tool_calls or [] %}{{ '<tool_call>' + (call.function | tojson) + '</tool_call>' }}{% endfor %}
{%- endfor %}
{%- set results = messages | selectattr('role', 'equalto', 'tool') | list %}
{%- if not tools %}{{ '<|say_hello|>' }}
{%- elif not results %}{{ '<|say_copy|>' }}
{%- elif 'SECRET' not in results[0].content %}{{ '<|say_failed|>' }}
{%- elif results | length == 1 %}{{ '<|say_close|>' }}
{%- elif 'invalid agent id' not in results[1].content %}{{ '<|say_failed|>' }}
{%- else %}{{ '<|say_done|>' }}
{%- endif %}{# thoughts stand in <think> and </think> #}""".replace("SECRET", SECRET)

TEXTS = {
    "<|say_hello|>": ["Nothing can be called here."],
    "<|say_copy|>": [THINK_OPEN, "\nA file is to be copied.\n", THINK_CLOSE, "\n\nLet me look.\n",
                     *calling("exec_command", {"cmd": f"cp {NOTE} {COPY} && cat {COPY}"})],
    "<|say_close|>": calling("multi_agent_v1__close_agent", {"target": "nobody"}),
    "<|say_done|>": [DONE],
    "<|say_failed|>": [FAILED],
}


# The model goes on behind its own tokens alone. Few rows, since each has room for a whole context.
AGENT = {"scheduling": {"jump_ahead": False}, "memory": {"max_rows": 4}}


@pytest.fixture(scope="module")
def agent_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeftServer]:
    model = write_script_model(tmp_path_factory.mktemp("agent") / MODEL, TEXTS, TEMPLATE, context=1 << 16)
    server = WeftServer(tmp_path_factory.mktemp("server"), AGENT, model=model)
    yield server
    server.wait_until_idle()
    server.stop()
    server.expect_clean_log()


def codex(server: WeftServer, home: Path, work: Path, question: str) -> list[Any]:
    (home / "config.toml").write_text(CONFIG.format(model=MODEL, url=server.url))
    ran = subprocess.run([PROGRAM, "exec", "--json", "--skip-git-repo-check",
                          "--dangerously-bypass-approvals-and-sandbox", question], cwd=work, check=False,
                         capture_output=True, encoding="utf-8", timeout=4 * PATIENCE_S, stdin=subprocess.DEVNULL,
                         env={"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home),
                              "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"})
    assert ran.returncode == 0, ran.stdout + ran.stderr + server.log()
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_a_command_is_run_and_a_function_of_a_namespace_is_called(agent_server: WeftServer, tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (work / NOTE).write_text(SECRET + "\n")
    events = codex(agent_server, home, work, f"Copy what is in {NOTE} to {COPY}.")
    ended = [event["item"] for event in events if event["type"] == "item.completed"]
    assert [item["text"] for item in ended if item["type"] == "agent_message"][-1] == DONE
    commands = [item for item in ended if item["type"] == "command_execution"]
    assert [(item["aggregated_output"], item["exit_code"]) for item in commands] == [(SECRET + "\n", 0)]
    assert (work / COPY).read_text() == SECRET + "\n"
