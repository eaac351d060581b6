"""`weft chat --tools` on a model that calls: what runs, who is asked, and what is shown."""

import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from script_model import write_script_model
from waiting import PATIENCE_S, eventually
from weft_server import program

QUESTION = "What is the weather?"
REMARK, ANSWER = "One moment.", "It is sunny in the city, I am told."
CALL = 'calls get_weather {"city":"Zürich","days":2}'
CTRL_C = b"\x03"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_script_model(tmp_path_factory.mktemp("script") / "model")


def write_tools(folder: Path, weather: dict[str, Any], clock: dict[str, Any]) -> Path:
    path = folder / "tools.json"
    path.write_text(json.dumps([{"name": "get_weather", **weather}, {"name": "get_time", **clock}]))
    return path


def piped(model: Path, tools: Path, lines: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program(), "chat", str(model), "--tools", str(tools)], input=lines, capture_output=True,
                          encoding="utf-8", timeout=PATIENCE_S, check=False)


class Typist:
    """Somebody at a terminal."""

    def __init__(self, model: Path, tools: Path) -> None:
        self.seen = ""
        child, self.terminal = pty.fork()
        if child == 0:
            os.execv(program(), [program(), "chat", str(model), "--tools", str(tools)])
        self.child = child

    def see(self, text: str) -> None:
        """Waits until the text is on the screen, behind what was seen before."""
        until = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            ready, _, _ = select.select([self.terminal], [], [], max(0, until - time.monotonic()))
            assert ready, f"no {text!r} in {self.seen!r}"
            self.seen += os.read(self.terminal, 4096).decode("utf-8", "replace")
        self.seen = self.seen[self.seen.index(text) + len(text):]

    def type(self, line: str) -> None:
        os.write(self.terminal, line.encode() + b"\r")

    def press(self, key: bytes) -> None:
        os.write(self.terminal, key)

    def leave(self) -> int:
        self.type("/quit")
        _, status = os.waitpid(self.child, 0)
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status)


@pytest.fixture
def typist(model: Path, tmp_path: Path) -> Iterator[Typist]:
    """At a model whose first tool says what it got, and whose second one takes long."""
    found = Typist(model, write_tools(tmp_path, {"command": ["cat"]}, {"shell": f"touch {tmp_path}/ran; sleep 1000"}))
    found.see("> ")
    yield found
    assert found.leave() == 0


def test_calls_run_and_the_model_goes_on_with_their_results(model: Path, tmp_path: Path) -> None:
    tools = write_tools(tmp_path, {"command": ["cat"], "ask": False}, {"shell": "echo noon; exit 3", "ask": False})
    saved = tmp_path / "talk.json"
    done = piped(model, tools, f"{QUESTION}\n/thoughts\n/save {saved}\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{REMARK}\n{ANSWER}\nThe weather is asked for.\n"
    assert "thought: 5 words, " in done.stderr
    assert CALL + '\n-> {"city":"Zürich","days":2}\n' in done.stderr
    items = json.loads(saved.read_text())["messages"]
    assert [item.get("type", item.get("role")) for item in items] == [
        "user", "reasoning", "assistant", "function_call", "function_call", "function_call_output",
        "function_call_output", "assistant"]
    assert items[5]["output"] == '{"city":"Zürich","days":2}'
    assert items[6]["output"] == "error: it ended with code 3\nnoon"
    assert [item["call_id"] for item in items[3:5]] == [item["call_id"] for item in items[5:7]]


def test_nothing_runs_unasked_where_nobody_can_be_asked(model: Path, tmp_path: Path) -> None:
    touch = {"shell": f"touch {tmp_path}/ran"}
    done = piped(model, write_tools(tmp_path, touch, touch), f"{QUESTION}\ny\n/quit\n")
    assert done.stdout.startswith(f"{REMARK}\n{ANSWER}\n")
    assert done.stderr.count("not run, since nobody can be asked") == 4  # the line "y" is a question, too
    assert not (tmp_path / "ran").exists()


def test_a_model_that_calls_for_ever_is_stopped(tmp_path: Path) -> None:
    model = write_script_model(tmp_path / "model")
    config = json.loads((model / "tokenizer_config.json").read_text())
    config["chat_template"] = config["chat_template"].replace("<|say_result|>", "<|say_calls|>")
    (model / "tokenizer_config.json").write_text(json.dumps(config))
    quick = {"command": ["true"], "ask": False}
    done = piped(model, write_tools(tmp_path, quick, quick), QUESTION + "\n")
    assert done.returncode == 1
    assert "(stopped: the model goes on calling after 16 rounds)" in done.stderr


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_the_program_ends_its_command_too(model: Path, tmp_path: Path, how: signal.Signals) -> None:
    started = tmp_path / "started"
    shell = f"sleep 1000 & echo $! > {started}.draft; mv {started}.draft {started}; wait"
    tools = write_tools(tmp_path, {"shell": shell, "ask": False}, {"command": ["true"], "ask": False})
    with subprocess.Popen([program(), "chat", str(model), "--tools", str(tools)], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, encoding="utf-8") as chat:
        assert chat.stdin is not None
        chat.stdin.write(QUESTION + "\n")
        chat.stdin.flush()
        eventually(started.exists, "the command begins")
        chat.send_signal(how)
        assert chat.wait(PATIENCE_S) == -how
    eventually(lambda: not runs(int(started.read_text())), "nothing of the command is left")


def runs(process: int) -> bool:
    """Whether it has not ended; what has, and waits for its parent to hear of it, does not run."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_file_of_tools_that_is_wrong_ends_it(model: Path, tmp_path: Path) -> None:
    done = piped(model, write_tools(tmp_path, {"command": "cat"}, {"shell": "date"}), "")
    assert done.returncode == 1
    assert "tools.json: [0].command: must be a list of texts" in done.stderr


def test_the_user_is_asked_before_each(typist: Typist, tmp_path: Path) -> None:
    typist.type(QUESTION)
    typist.see("thought: 5 words")
    typist.see(REMARK)
    typist.see(CALL)
    typist.see("run it? (y/n) ")
    typist.type("perhaps")
    typist.see("run it? (y/n) ")
    typist.type("y")
    typist.see('-> {"city":"Zürich","days":2}')
    typist.see("calls get_time")
    typist.see("run it? (y/n) ")
    typist.type("n")
    typist.see(ANSWER)
    typist.see("> ")
    assert not (tmp_path / "ran").exists()


def test_ctrl_c_ends_a_command_and_the_model_goes_on(typist: Typist, tmp_path: Path) -> None:
    typist.type(QUESTION)
    typist.see("run it? (y/n) ")
    typist.type("n")
    typist.see("calls get_time")
    typist.see("run it? (y/n) ")
    typist.type("y")
    eventually((tmp_path / "ran").exists, "the command begins")
    typist.press(CTRL_C)
    typist.see("-> error: the user ended it")
    typist.see(ANSWER)
    typist.see("> ")


def test_ctrl_c_at_the_question_stops_the_answer(typist: Typist) -> None:
    typist.type(QUESTION)
    typist.see("run it? (y/n) ")
    typist.press(CTRL_C)
    typist.see("(stopped)")
    typist.see("> ")
    typist.type("/thoughts")
    typist.see("The weather is asked for.")
    typist.see("> ")
