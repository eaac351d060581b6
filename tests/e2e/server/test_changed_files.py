"""Other programs change the files of a model while it is served."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import StartServer
from raw_http import RawClient
from weft_server import MODEL, WeftServer

# Tokens from all over the vocabulary, so that its whole table is read.
QUESTIONS = ("Once upon a time", "What is 12 + 30?", "Zebras, quartz and jazz: xylophones")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of the demo model."""
    return shutil.copytree(MODEL, tmp_path / "model")


def answers(server: WeftServer) -> list[Any]:
    found = []
    for question in QUESTIONS:
        with RawClient(server.port) as raw:
            answer = raw.post("/v1/completions", {"prompt": question, "max_tokens": 30, "temperature": 0}).read()
        assert answer.status == 200
        found.append(answer.json()["choices"])
    return found


def test_files_that_are_cut_change_nothing(start_server: StartServer, model: Path):
    server = start_server(model=model)
    before = answers(server)
    os.truncate(model / "model.safetensors", 1000)
    assert answers(server) == before
    for file in model.iterdir():
        os.truncate(file, 0)
    assert answers(server) == before


def test_files_that_are_replaced_change_nothing(start_server: StartServer, model: Path):
    server = start_server(model=model)
    before = answers(server)
    for file in list(model.iterdir()):
        other = file.with_suffix(".new")
        other.write_bytes(b"something else")
        other.rename(file)
    assert answers(server) == before
    shutil.rmtree(model)
    assert answers(server) == before
