"""A model on several ranks, in one process and in one for each, as a launcher starts them."""

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import client_of
from prompts import ENDLESS_BODY
from rank_processes import Ranks
from raw_http import RawClient
from waiting import PATIENCE_S
from weft_server import MODEL, program, write_config

PARTITIONS = ["cpu,cpu", "cpu | cpu"]
CANCELS = 250  # of each way to run it, which are four
ENDLESS = {**ENDLESS_BODY, "n": 2, "prompt": "Once", "stream": True}


@pytest.fixture(params=[(partition, processes) for partition in PARTITIONS for processes in (1, 2)],
                ids=lambda param: f"{param[0].replace(' ', '')}_in_{param[1]}")
def ranks(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ranks]:
    made = Ranks(tmp_path, *request.param)
    try:
        yield made
    finally:
        made.kill()


def leave_early(port: int) -> None:
    with RawClient(port) as raw:
        raw.post("/v1/completions", ENDLESS)
        assert raw.read_head().status == 200
        next(raw.chunks())


def test_it_answers_survives_cancels_and_drains(ranks: Ranks):
    server = ranks.server
    with client_of(server) as client:
        question = [{"role": "user", "content": "What is 12 + 30?"}]
        answer = client.chat.completions.create(model="model", messages=question, temperature=0)
        assert answer.choices[0].message.content == "12 + 30 = 42."
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(leave_early, [server.port] * CANCELS))
    server.wait_until_idle()
    with RawClient(server.port) as running:
        running.post("/v1/completions", {"prompt": "Once", "stream": True, "max_tokens": 200, "ignore_eos": True})
        assert running.read_head().status == 200
        chunks = running.chunks()
        next(chunks)
        # Launchers tell all processes at once.
        for process in [server.process, *ranks.followers]:
            process.send_signal(signal.SIGTERM)
        assert b"".join(chunks).endswith(b"data: [DONE]\n\n")
    assert server.wait() == 0, server.log()
    assert all(status == 0 for status, _ in ranks.ends())
    server.expect_clean_log()


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_rank_that_is_killed_ends_the_server_and_its_requests(tmp_path: Path, partition: str):
    ranks = Ranks(tmp_path, partition, 2)
    try:
        with RawClient(ranks.server.port) as raw:
            raw.post("/v1/completions", ENDLESS)
            assert raw.read_head().status == 200
            chunks = raw.chunks()
            next(chunks)
            ranks.followers[0].kill()
            assert b'"error"' in b"".join(chunks)
        assert ranks.server.wait() == 70, ranks.server.log()
    finally:
        ranks.kill()


def test_an_idle_server_ends_when_a_rank_is_killed(tmp_path: Path):
    ranks = Ranks(tmp_path, "cpu,cpu", 2)
    try:
        ranks.followers[0].kill()
        assert ranks.server.wait() == 70, ranks.server.log()
        assert "rank 1: the connection ended" in ranks.server.log()
    finally:
        ranks.kill()


def test_no_rank_stays_behind_when_the_server_is_killed(tmp_path: Path):
    ranks = Ranks(tmp_path, "cpu,cpu", 2)
    try:
        ranks.server.kill(signal.SIGKILL)
        [(status, words)] = ranks.ends()
        assert status == 70 and "the head: the connection ended" in words
    finally:
        ranks.kill()


def test_the_launcher_must_start_as_many_processes_as_there_are_ranks(tmp_path: Path):
    write_config(tmp_path / "weft.toml", {"device": {"partition": "cpu,cpu,cpu"}})
    ended = subprocess.run([program(), "serve", str(MODEL), "--port", "0", "--config", str(tmp_path / "weft.toml")],
                           env={**os.environ, "RANK": "0", "WORLD_SIZE": "2"}, capture_output=True, text=True,
                           timeout=PATIENCE_S)
    assert ended.returncode == 1
    assert "3 ranks, and the launcher has started 2 processes" in ended.stderr
