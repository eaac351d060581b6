"""Two servers behind nginx with the configuration of examples/proxy, one of which is told to stop."""

import json
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.sync.client import connect

from conftest import StartServer
from nginx import needs_nginx, run_nginx
from raw_http import RawClient
from rank_processes import free_port
from response_socket import ask, create, receive, receive_response
from waiting import PATIENCE_S, eventually
from weft_server import ROOT, WeftServer

EXAMPLE = ROOT / "examples/proxy/nginx.conf"
SHORT = {"prompt": "Once", "max_tokens": 2}
STREAM = {"prompt": "Once", "stream": True, "max_tokens": 300, "ignore_eos": True}

pytestmark = needs_nginx


class Proxied:
    """Two servers, and the port of the nginx that stands before them."""

    def __init__(self, servers: list[WeftServer], port: int) -> None:
        self.servers = servers
        self.port = port

    def server_of_the_running(self) -> tuple[WeftServer, WeftServer]:
        """The one that has a request, and the other."""
        one = eventually(lambda: next((each for each in self.servers if each.running()), None), "a request runs")
        return one, next(each for each in self.servers if each is not one)


@pytest.fixture
def proxied(start_server: StartServer, tmp_path: Path) -> Iterator[Proxied]:
    servers = [start_server(server={"drain_timeout_s": PATIENCE_S}) for _ in range(2)]
    port = free_port()
    text = EXAMPLE.read_text()
    for old, new in ((8080, port), (8081, servers[0].port), (8082, servers[1].port)):
        text, count = re.subn(rf"127\.0\.0\.1:{old}\b", f"127.0.0.1:{new}", text)
        assert count == 1, old
    with run_nginx(tmp_path, text, port):
        yield Proxied(servers, port)


class Asking:
    """Asks for a few tokens again and again until it is stopped; keeps every status."""

    def __init__(self, port: int) -> None:
        self.statuses: list[int] = []
        self._stop = threading.Event()
        self._port = port
        self._threads = [threading.Thread(target=self._run) for _ in range(3)]

    def __enter__(self) -> "Asking":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with RawClient(self._port) as raw:
                    self.statuses.append(raw.post("/v1/completions", SHORT).read().status)
            except (AssertionError, OSError):
                self.statuses.append(0)


def test_no_request_is_lost_when_a_server_is_told_to_stop(proxied: Proxied):
    with RawClient(proxied.port) as raw:
        raw.post("/v1/completions", STREAM)
        assert raw.read_head().status == 200
        chunks = raw.chunks()
        first = next(chunks)
        going, staying = proxied.server_of_the_running()
        with Asking(proxied.port) as asking:
            eventually(lambda: len(asking.statuses) > 10, "others are answered")
            going.kill(signal.SIGTERM)
            text = (first + b"".join(chunks)).decode()
            assert going.wait() == 0, going.log()
            answered = len(asking.statuses)
            eventually(lambda: len(asking.statuses) > answered + 20, "the other server answers")
    events = [json.loads(event.removeprefix("data: ")) for event in text.split("\n\n")[:-2]]
    assert text.endswith("data: [DONE]\n\n")
    assert events[-1]["choices"][0]["finish_reason"] == "length"
    assert set(asking.statuses) == {200}
    assert staying.process.poll() is None


def test_a_websocket_ends_its_response_and_goes_on_at_the_other_server(proxied: Proxied):
    url = f"ws://127.0.0.1:{proxied.port}/v1/responses"
    with connect(url) as socket:
        socket.send(create(ignore_eos=True, max_output_tokens=300))
        assert receive(socket)["type"] == "response.created"
        going, _ = proxied.server_of_the_running()
        going.kill(signal.SIGTERM)
        assert receive_response(socket)[-1]["response"]["usage"]["output_tokens"] == 300
    assert going.wait() == 0, going.log()
    with connect(url) as socket:
        assert ask(socket)[-1]["type"] == "response.completed"


def test_requests_go_to_the_server_with_the_fewest(proxied: Proxied):
    with RawClient(proxied.port) as one, RawClient(proxied.port) as other:
        for raw in (one, other):
            raw.post("/v1/completions", {**STREAM, "max_tokens": 900, "n": 4})
            assert raw.read_head().status == 200
        for server in proxied.servers:
            eventually(server.running, "each has one")
