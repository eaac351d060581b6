"""Claude Code, the program, with its default settings."""

import importlib.util
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prompts import MODEL
from script_model import THINK_CLOSE, THINK_OPEN, calling, write_script_model
from waiting import PATIENCE_S
from weft_server import WeftServer

PACKAGE = importlib.util.find_spec("claude_agent_sdk")
if PACKAGE is None:
    pytest.skip("claude-agent-sdk is not installed", allow_module_level=True)
PROGRAM = Path(PACKAGE.submodule_search_locations[0]) / "_bundled/claude"

SECRET = "the harbour opens at 4711"
NOTE, COPY = "note.txt", "copy.txt"
DONE, FAILED = "The secret is copied to the other file.", "No secret has come back from the tools."
COMMAND = {"command": f"cp {NOTE} {COPY}", "description": "Copies the note"}

# The file is read first, its text has to come back before the command is run, and that has to be run before the answer.
TEMPLATE = """{%- for tool in tools or [] %}{{ '<|turn|>' + (tool | tojson) }}{% endfor %}
{%- for m in messages %}{{ '<|turn|>' + m.role + ': ' + m.content }}
{%- for call in m.tool_calls or [] %}{{ '<tool_call>' + (call.function | tojson) + '</tool_call>' }}{% endfor %}
{%- endfor %}
{%- set results = messages | selectattr('role', 'equalto', 'tool') | list %}
{%- if not tools %}{{ '<|say_hello|>' }}
{%- elif not results %}{{ '<|say_read|>' }}
{%- elif 'SECRET' not in results[0].content %}{{ '<|say_failed|>' }}
{%- elif results | length == 1 %}{{ '<|say_copy|>' }}
{%- else %}{{ '<|say_done|>' }}
{%- endif %}{# thoughts stand in <think> and </think> #}""".replace("SECRET", SECRET)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    (folder / NOTE).write_text(SECRET + "\n")
    return folder


# The model goes on behind its own tokens alone. Few rows, since each has room for a whole context.
AGENT = {"scheduling": {"jump_ahead": False}, "memory": {"max_rows": 4}}


@pytest.fixture(scope="module")
def agent_server(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeftServer]:
    texts = {
        "<|say_hello|>": ["Nothing can be called here."],
        "<|say_read|>": [THINK_OPEN, "\nA file is to be read.\n", THINK_CLOSE, "\n\nLet me look.\n",
                         *calling("Read", {"file_path": str(work / NOTE)})],
        "<|say_copy|>": calling("Bash", COMMAND),
        "<|say_done|>": [DONE],
        "<|say_failed|>": [FAILED],
    }
    model = write_script_model(tmp_path_factory.mktemp("agent") / MODEL, texts, TEMPLATE, context=1 << 16)
    server = WeftServer(tmp_path_factory.mktemp("server"), AGENT, model=model)
    yield server
    server.wait_until_idle()
    server.stop()
    server.expect_clean_log()


def environment(server: WeftServer, home: Path) -> dict[str, str]:
    """The environment of a user who has set the documented variables, on a machine without a network."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}


def claude(server: WeftServer, home: Path, work: Path, *arguments: str) -> str:
    ran = subprocess.run([str(PROGRAM), "--print", "--model", MODEL, *arguments], cwd=work, check=False,
                         capture_output=True, encoding="utf-8", timeout=4 * PATIENCE_S, stdin=subprocess.DEVNULL,
                         env=environment(server, home))
    assert ran.returncode == 0, ran.stdout + ran.stderr + server.log()
    return ran.stdout


def test_a_file_is_read_and_a_command_is_run(agent_server: WeftServer, work: Path, tmp_path: Path) -> None:
    said = claude(agent_server, tmp_path, work, "--allowedTools", "Bash", "--output-format", "json",
                  f"Copy what is in {NOTE} to {COPY}.")
    result = json.loads(said)
    assert result["result"] == DONE
    assert (result["num_turns"], result["is_error"]) == (3, False)
    assert (work / COPY).read_text() == SECRET + "\n"


def test_its_sdk_sees_thoughts_calls_and_results(agent_server: WeftServer, work: Path, tmp_path: Path) -> None:
    import asyncio

    import claude_agent_sdk as sdk

    (work / COPY).unlink(missing_ok=True)

    async def ask() -> list[Any]:
        options = sdk.ClaudeAgentOptions(model=MODEL, cwd=work, allowed_tools=["Bash"],
                                         env=environment(agent_server, tmp_path))
        return [message async for message in sdk.query(prompt=f"Copy {NOTE}.", options=options)]

    messages = asyncio.run(ask())
    blocks = [block for message in messages for block in getattr(message, "content", []) if not isinstance(block, str)]
    calls = [(block.name, block.input) for block in blocks if isinstance(block, sdk.ToolUseBlock)]
    assert calls == [("Read", {"file_path": str(work / NOTE)}), ("Bash", COMMAND)]
    results = [block.content for block in blocks if isinstance(block, sdk.ToolResultBlock)]
    assert SECRET in str(results[0])
    assert messages[-1].result == DONE
    assert (work / COPY).read_text() == SECRET + "\n"
