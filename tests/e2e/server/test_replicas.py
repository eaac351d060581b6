"""Several replicas behind one server: answers, the load of each, draining, and what is refused."""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import StartServer, client_of
from prompts import ENDLESS_BODY
from raw_http import RawClient
from waiting import PATIENCE_S, eventually
from weft_server import MODEL, WeftServer, program

QUESTION = [{"role": "user", "content": "What is 12 + 30?"}]
STREAM = {"prompt": "Once", "stream": True, "max_tokens": 200, "ignore_eos": True}
REPLICAS: list[int | str] = [2, "cpu,cpu; cpu,cpu"]


def load(server: WeftServer, replica: int) -> float:
    return server.metric(f'weft_replica_load_tokens{{replica="{replica}"}}')


def refusal(*flags: str, **environment: str) -> str:
    """Returns the error of the program, which does not start with these flags."""
    ended = subprocess.run([program(), "serve", str(MODEL), "--port", "0", *flags], capture_output=True, text=True,
                           env={**os.environ, **environment}, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 1, ended.stderr
    return ended.stderr


@pytest.mark.parametrize("replicas", REPLICAS)
def test_many_at_once_get_the_answer_that_one_gets(start_server: StartServer, replicas: int | str):
    server = start_server(device={"replicas": replicas})
    with client_of(server) as client:
        def answer(_: int) -> str | None:
            made = client.chat.completions.create(model="model", messages=QUESTION, temperature=0)
            return made.choices[0].message.content

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(answer, range(24))) == {"12 + 30 = 42."}


def test_requests_are_shared_out_and_leave_no_load(start_server: StartServer):
    server = start_server(device={"replicas": 2})
    assert server.get("/requests")["engine"]["rows"] == 2 * 256
    clients = [RawClient(server.port) for _ in range(6)]
    try:
        for client in clients:
            client.post("/v1/completions", {**ENDLESS_BODY, "prompt": "Once", "stream": True})
            assert client.read_head().status == 200
        eventually(lambda: len(server.running()) == 6, "they run")
        assert load(server, 0) == load(server, 1) > 0
    finally:
        for client in clients:
            client.close()
    server.wait_until_idle()
    eventually(lambda: load(server, 0) == load(server, 1) == 0, "nothing is left of the loads")


@pytest.mark.parametrize("replicas", REPLICAS)
def test_both_end_their_streams_when_it_is_told_to_stop(start_server: StartServer, replicas: int | str):
    server = start_server(device={"replicas": replicas}, server={"drain_timeout_s": PATIENCE_S})
    with RawClient(server.port) as one, RawClient(server.port) as other:
        streams = []
        for raw in (one, other):
            raw.post("/v1/completions", STREAM)
            assert raw.read_head().status == 200
            streams.append(raw.chunks())
            next(streams[-1])
        server.kill(signal.SIGTERM)
        assert all(b"".join(stream).endswith(b"data: [DONE]\n\n") for stream in streams)
    assert server.wait() == 0, server.log()


def test_a_launcher_that_starts_several_processes_is_refused():
    said = refusal("--replicas", "2", RANK="0", WORLD_SIZE="2")
    assert "replicas: all are of one process, and the launcher has started 2" in said
    # Not in the process that would wait for the head either.
    assert "replicas: all are of one process" in refusal("--replicas", "2", RANK="1", WORLD_SIZE="2")


@pytest.mark.parametrize(("flags", "said"), [
    (["--replicas", "0"], "device.replicas = \"0\": must be 1 .. 64, or devices between semicolons"),
    (["--replicas", "cpu;"], "must be 1 .. 64, or devices between semicolons"),
    (["--replicas", "cpu; cpu", "--partition", "cpu,cpu"], "says where each replica runs, and so does device.partition"),
    (["--replicas", "cpu; cuda:0"], "'cuda:0' beside 'cpu': all must be on the same kinds of devices"),
    (["--replicas", "2", "--device", "cuda:0"], "'cuda:0': a GPU is in two of them, and each has its own"),
    (["--replicas", "cpu,cpu; cpu"], "each has as many stages of as many ranks"),
])
def test_it_says_what_is_wrong_with_replicas(flags: list[str], said: str):
    assert said in refusal(*flags)
