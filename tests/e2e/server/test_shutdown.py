"""How the server ends."""

import json
import os
import pty
import re
import signal
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from conftest import StartServer
from prompts import ENDLESS_BODY
from raw_http import RawClient
from response_socket import create, receive, receive_response, url_of
from waiting import PATIENCE_S, eventually
from weft_server import MODEL, program, write_config

# Requests that run must come to their end, however slow a sanitizer build is on a busy machine.
PATIENT = {"drain_timeout_s": 10 * PATIENCE_S}
LONG = {"prompt": "Once", "stream": True, "max_tokens": 300, "ignore_eos": True}


def is_closed_to_others(port: int) -> bool:
    """A new client is told to come again."""
    with RawClient(port) as raw:
        return raw.post("/v1/completions", {"prompt": "Once", "max_tokens": 1}).read().status == 503


def test_a_stream_is_finished_and_nothing_new_is_begun(start_server: StartServer):
    server = start_server(server=PATIENT)
    with RawClient(server.port) as running, RawClient(server.port) as idle:
        assert idle.send_request("GET", "/live").read().status == 200
        running.post("/v1/completions", LONG)
        assert running.read_head().status == 200
        chunks = running.chunks()
        first = next(chunks)
        server.kill(signal.SIGTERM)
        eventually(lambda: is_closed_to_others(server.port), "new clients are refused")
        assert idle.is_at_end(), "what asks for nothing is closed"
        for path, status in (("/health", 503), ("/live", 200), ("/requests", 200)):
            with RawClient(server.port) as other:
                answer = other.send_request("GET", path).read()
                assert (answer.status, answer.headers["connection"]) == (status, "close"), path
        text = (first + b"".join(chunks)).decode()
    events = [json.loads(event.removeprefix("data: ")) for event in text.split("\n\n")[:-2]]
    assert text.endswith("data: [DONE]\n\n")
    assert events[-1]["choices"][0]["finish_reason"] == "length"
    assert server.wait() == 0


def test_an_answer_that_is_asked_for_is_given(start_server: StartServer):
    server = start_server(server=PATIENT)
    with RawClient(server.port) as raw:
        raw.post("/v1/completions", {**LONG, "stream": False})
        eventually(server.running, "it runs")
        server.kill(signal.SIGINT)
        answer = raw.read()
    assert (answer.status, answer.json()["usage"]["completion_tokens"]) == (200, 300)
    assert answer.headers["connection"] == "close"
    assert server.wait() == 0


def test_a_websocket_ends_its_response_and_is_told_that_the_server_goes(start_server: StartServer):
    server = start_server(server=PATIENT)
    with connect(url_of(server)) as idle, connect(url_of(server)) as busy:
        busy.send(create(ignore_eos=True, max_output_tokens=200))
        assert receive(busy)["type"] == "response.created"
        server.kill(signal.SIGTERM)
        assert receive_response(busy)[-1]["response"]["usage"]["output_tokens"] == 200
        for socket in (busy, idle):
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=PATIENCE_S)
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1001, "the server is going down")
    assert server.wait() == 0


def test_a_server_without_work_ends_at_once(start_server: StartServer):
    server = start_server()
    server.kill(signal.SIGTERM)
    assert server.wait() == 0


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_whatever_runs(start_server: StartServer, second: signal.Signals):
    server = start_server()
    with RawClient(server.port) as raw:
        raw.post("/v1/completions", {"prompt": "Once", "stream": True, **ENDLESS_BODY})
        raw.read_head()
        server.kill(signal.SIGTERM)
        server.wait_for_log("stopping")
        assert server.process.poll() is None, "it lets the stream end"
        server.kill(second)
        text = b"".join(raw.chunks()).decode()
        last = json.loads(text.split("\n\n")[-2].removeprefix("data: "))
        assert last["error"]["code"] == "stopping", "the client hears that this is no end of its text"
        assert server.wait() == 128 + second


def test_a_websocket_hears_of_a_second_signal(start_server: StartServer):
    server = start_server()
    with connect(url_of(server)) as socket:
        socket.send(create(ignore_eos=True, max_output_tokens=900, n=1))
        assert receive(socket)["type"] == "response.created"
        server.kill(signal.SIGTERM)
        server.wait_for_log("stopping")
        server.kill(signal.SIGTERM)
        last = receive_response(socket)[-1]
        assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "stopping")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE_S)
        assert closed.value.rcvd.code == 1001
    assert server.wait() == 128 + signal.SIGTERM


def test_the_terminal_that_it_was_started_in_goes_and_it_ends_in_order(tmp_path: Path):
    write_config(tmp_path / "weft.toml", {"server": PATIENT})
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(program(), [program(), "serve", str(MODEL), "--port", "0", "--config", str(tmp_path / "weft.toml")])
    said = b""
    while not (found := re.search(rb"listening on http://127\.0\.0\.1:(\d+)", said)):
        said += os.read(terminal, 4096)
    port = int(found[1])

    def is_ready() -> bool:
        with RawClient(port) as raw:
            return raw.send_request("GET", "/health").read().status == 200

    eventually(is_ready, "the server is healthy")
    with RawClient(port) as running:
        running.post("/v1/completions", LONG)
        assert running.read_head().status == 200
        chunks = running.chunks()
        next(chunks)
        os.close(terminal)  # the system sends SIGHUP; nothing can be logged any more
        assert list(chunks)[-1].endswith(b"data: [DONE]\n\n")
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
