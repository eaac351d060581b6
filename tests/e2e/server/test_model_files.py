"""Models whose files are wrong in a small thing."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import StartServer
from prompts import QUESTION
from raw_http import RawClient
from waiting import PATIENCE_S
from weft_server import MODEL, program


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of the demo model, to be spoilt."""
    return Path(shutil.copytree(MODEL, tmp_path / "model"))


def test_a_template_that_cannot_be_parsed_is_told_when_the_model_is_loaded(start_server: StartServer, model: Path):
    (model / "chat_template.jinja").write_text("{{ bos_token }}\n{% for m messages %}")
    server = start_server(model=model)
    server.wait_for_log(r"the model cannot chat.*chat_template\.jinja.*chat_template:2:")
    with RawClient(server.port) as raw:
        assert raw.post("/v1/completions", {"prompt": "Once", "max_tokens": 2}).read().status == 200
        for path, body in (("/v1/chat/completions", {"messages": QUESTION}), ("/v1/responses", {"input": "hi"}),
                           ("/tokenize", {"messages": QUESTION})):
            answer = raw.post(path, body).read()
            assert (answer.status, answer.error()["param"]) == (400, None), "no field of the request is to blame"
            assert "this model cannot chat, and serves completions alone: chat_template:2:" in answer.error()["message"]


@pytest.mark.parametrize("ids", [10**6, -1, [2, "</s>"], "</s>", 2.5], ids=str)
def test_an_end_token_that_is_none_is_refused_when_the_model_is_loaded(model: Path, ids: object):
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "eos_token_id": ids}))
    ended = subprocess.run([program(), "serve", str(model), "--port", "0"], capture_output=True, encoding="utf-8",
                           timeout=PATIENCE_S)
    assert ended.returncode == 1
    assert "eos_token_id" in ended.stderr and "config.json" in ended.stderr or "llama.toml" in ended.stderr, ended.stderr
