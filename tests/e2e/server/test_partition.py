"""A model on several ranks, in one process and in one for each, as a launcher starts them."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rank_processes import ENDLESS, PARTITIONS, Ranks, free_port
from raw_http import RawClient
from waiting import PATIENCE_S
from weft_server import MODEL, program, write_config

CANCELS = 250  # of each way to run it, which are four


@pytest.fixture(params=[(partition, processes) for partition in PARTITIONS for processes in (1, 2)],
                ids=lambda param: f"{param[0].replace(' ', '')}_in_{param[1]}")
def ranks(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ranks]:
    with Ranks(tmp_path, *request.param) as made:
        yield made


def leave_early(port: int) -> None:
    with RawClient(port) as raw:
        raw.post("/v1/completions", ENDLESS)
        assert raw.read_head().status == 200
        next(raw.chunks())


def test_it_answers_survives_cancels_and_drains(ranks: Ranks):
    server = ranks.server
    ranks.expect_answer()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(leave_early, [server.port] * CANCELS))
    server.wait_until_idle()
    with RawClient(server.port) as running:
        running.post("/v1/completions", {"prompt": "Once", "stream": True, "max_tokens": 200, "ignore_eos": True})
        assert running.read_head().status == 200
        chunks = running.chunks()
        next(chunks)
        ranks.terminate()
        assert b"".join(chunks).endswith(b"data: [DONE]\n\n")
    ranks.expect_drained()


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_rank_that_is_killed_ends_the_server_and_its_requests(tmp_path: Path, partition: str):
    with Ranks(tmp_path, partition, 2) as ranks:
        ranks.expect_end_with_a_follower()


def test_an_idle_server_ends_when_a_rank_is_killed(tmp_path: Path):
    with Ranks(tmp_path, "cpu,cpu", 2) as ranks:
        ranks.followers[0].kill()
        assert ranks.server.wait() == 70, ranks.server.log()
        assert "rank 1: the connection ended" in ranks.server.log()


def test_no_rank_stays_behind_when_the_server_is_killed(tmp_path: Path):
    with Ranks(tmp_path, "cpu,cpu", 2) as ranks:
        ranks.server.kill(signal.SIGKILL)
        [(status, words)] = ranks.ends()
        assert status == 70 and "the head: the connection ended" in words


def test_the_launcher_must_start_as_many_processes_as_there_are_ranks(tmp_path: Path):
    write_config(tmp_path / "weft.toml", {"device": {"partition": "cpu,cpu,cpu"}})
    ended = subprocess.run([program(), "serve", str(MODEL), "--port", "0", "--config", str(tmp_path / "weft.toml")],
                           env={**os.environ, "RANK": "0", "WORLD_SIZE": "2"}, capture_output=True, text=True,
                           timeout=PATIENCE_S)
    assert ended.returncode == 1
    assert "3 ranks, and the launcher has started 2 processes" in ended.stderr


def start_one_of_two(folder: Path, rank: int, port: int) -> subprocess.Popen[str]:
    write_config(folder / "weft.toml", {"device": {"partition": "cpu,cpu"}})
    world = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_PORT": str(port), "WEFT_RANK_KEY": "a secret"}
    return subprocess.Popen([program(), "serve", str(MODEL), "--port", "0", "--config", str(folder / "weft.toml")],
                            env={**os.environ, **world}, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_head_that_waits_for_its_ranks_ends_well_when_it_is_told(tmp_path: Path, told: signal.Signals):
    with start_one_of_two(tmp_path, 0, free_port()) as head:
        assert head.stderr and any("listening on" in line for line in head.stderr)
        head.send_signal(told)
        assert head.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_rank_that_waits_for_its_head_ends_well_when_it_is_told(tmp_path: Path, told: signal.Signals):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE_S)
        with start_one_of_two(tmp_path, 1, silent.getsockname()[1]) as rank:
            connection, _ = silent.accept()
            with connection:
                rank.send_signal(told)
                assert rank.wait(PATIENCE_S) == 0


def test_processes_of_one_user_find_their_key_which_nobody_else_can_read(tmp_path: Path):
    with Ranks(tmp_path, "cpu,cpu", 2, key={"TMPDIR": str(tmp_path)}) as ranks:
        ranks.expect_answer()
        assert (tmp_path / f"weft-{os.geteuid()}/ranks.key").stat().st_mode & 0o777 == 0o600
        ranks.terminate()
        ranks.expect_drained()
