"""The server's log of requests."""

import json
import re
import signal
import subprocess
import unicodedata
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from websockets.sync.client import connect

from conftest import StartServer
from raw_http import RawClient
from response_socket import ask, url_of
from waiting import PATIENCE_S, eventually
from weft_server import MODEL, WeftServer, program, write_config

SECRET = "The launch code is 0000."

# Paths, methods, ids and bodies that nobody sends who means well.
HOSTILE = [
    b'GET /"}\x01{" HTTP/1.1\r\nHost: weft\r\n\r\n',
    b"GET /%0A%7B%22level%22:%22error%22%7D%0d%0a HTTP/1.1\r\nHost: weft\r\n\r\n",
    b"GET /\xff\xfe\xc3( HTTP/1.1\r\nHost: weft\r\n\r\n",
    b"GET /%ff%00%E2%80%A8 HTTP/1.1\r\nHost: weft\r\n\r\n",
    b"GET /\x1b[31mred HTTP/1.1\r\nHost: weft\r\n\r\n",
    b"GET /{}{fmt}%s%n HTTP/1.1\r\nHost: weft\r\n\r\n",
    b'BREW"\\ / HTTP/1.1\r\nHost: weft\r\n\r\n',
    b"BREW /version HTTP/1.1\r\nHost: weft\r\n\r\n",
    b'GET /version HTTP/1.1\r\nHost: weft\r\nX-Request-Id: a"b\r\n\r\n',
    b"GET /version HTTP/1.1\r\nHost: weft\r\nX-Request-Id: \xff\r\n\r\n",
    b"GET /version HTTP/1.1\r\nHost: weft\r\nX-Request-Id: {}\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: weft\r\nContent-Length: 15\r\n\r\n\xff\0\"\\\n\r\x1b{}}{}\xe2\x80\xa8",
    b"\x16\x03\x01\0\0", b"{}\n{}\n\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
]


def say(server: WeftServer, data: bytes) -> None:
    with RawClient(server.port) as raw:
        raw.send(data).read()


def expect_lines(server: WeftServer, first: int, pattern: str, count: int) -> list[str]:
    """Expects so many lines of requests from the `first` line on: not one of two threads' is the last for sure."""
    def ours() -> list[str]:
        lines = [line for line in server.lines[first:] if re.search(pattern, line)]
        return [line for line in lines if "/health" not in line and "/requests" not in line]  # those of waiting

    try:
        eventually(lambda: len(ours()) >= count, f"{count} requests in the log")
    except AssertionError as failure:
        raise AssertionError(f"{failure}, but:\n" + "\n".join(map(ascii, server.log_from(first)))) from None
    lines = ours()
    assert len(lines) == count
    return lines


def last_line(server: WeftServer) -> str:
    """Returns the log line of a request of our own, after which no older request is logged."""
    with RawClient(server.port) as raw:
        raw.send_request("GET", "/v2", "X-Request-Id: the-last-one").read()
    return server.wait_for_log(r".*the-last-one.*")[0]


@pytest.mark.parametrize("prompts", [False, True])
def test_every_line_of_a_json_log_is_an_object_whatever_clients_send(start_server: StartServer, prompts: bool):
    server = start_server(log={"format": "json", "level": "debug", "prompts": prompts})
    for data in HOSTILE:
        say(server, data)
    with connect(url_of(server)) as socket:
        ask(socket, input='"}\n{', max_output_tokens=1)
    server.wait_for_log(r'"/v1/responses"')  # it may end after the next one, on another thread
    last_line(server)
    expect_lines(server, 0, r'"message":"request"', len(HOSTILE) + 2)
    lines = [json.loads(line) for line in server.log().split("\n")]
    server.log().encode()  # it is UTF-8, or surrogates stand for what is not
    assert all({"time", "level", "message"} <= line.keys() for line in lines)
    assert not any(line["level"] == "error" for line in lines)


def test_every_request_is_one_line_of_a_text_log_whatever_clients_send(start_server: StartServer):
    server = start_server(log={"prompts": True})
    before = len(server.lines)
    for data in HOSTILE:
        say(server, data)
    last_line(server)
    lines = expect_lines(server, before, r"^\S+ \S+ \w+ 127\.0\.0\.1:", len(HOSTILE) + 1)
    server.log().encode()  # it is UTF-8, or surrogates stand for what is not
    assert not any(unicodedata.category(character) == "Cc" for line in lines for character in line)


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_requests_id_is_in_its_answer_and_in_its_line(start_server: StartServer, log_format: str):
    server = start_server(log={"format": log_format})
    with RawClient(server.port) as raw:
        for path, body in (("/v1/completions", {"prompt": "Once", "max_tokens": 1}), ("/v1/completions", {}),
                           ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1,
                                                     "stream": True}), ("/tokenize", {"prompt": "Once"})):
            answer = raw.post(path, body, f"X-Request-Id: mine{path.replace('/', '.')}").read()
            assert answer.headers["x-request-id"] == "mine" + path.replace("/", ".")
            assert f"{path}" in server.wait_for_log(rf".*mine{path.replace('/', '.')}.*")[0]
            made = raw.post(path, body).read().headers["x-request-id"]
            assert made.startswith("req_") and path in server.wait_for_log(f".*{made}.*")[0]


@pytest.mark.parametrize("wrong", ["", "a b", "x" * 129, "a/b", "\u00e4", "a;b", "{}", 'a"'], ids=ascii)
def test_an_id_that_could_do_harm_in_a_log_is_replaced(raw: RawClient, wrong: str):
    got = raw.send_request("GET", "/version", f"X-Request-Id: {wrong}").read().headers["x-request-id"]
    assert got.startswith("req_")


@pytest.mark.parametrize("kept", ["a", "x" * 128, "A.b_c:d-0", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"])
def test_an_id_that_is_one_comes_back(raw: RawClient, kept: str):
    assert raw.send_request("GET", "/version", f"X-Request-Id: {kept}").read().headers["x-request-id"] == kept


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_nothing_of_what_is_asked_is_in_the_log(start_server: StartServer, log_format: str):
    server = start_server(log={"format": log_format, "level": "debug"})
    with RawClient(server.port) as raw:
        for path, body in (("/v1/completions", {"prompt": SECRET, "max_tokens": 1}),
                           ("/v1/chat/completions", {"messages": [{"role": "user", "content": SECRET}],
                                                     "temperature": -1}),
                           ("/v1/responses", {"input": SECRET, "max_output_tokens": 1}),
                           ("/tokenize", {"prompt": SECRET}), ("/v1/completions", {SECRET: 1}),
                           ("/v1/completions", SECRET)):
            raw.post(path, body).read()
        raw.send_request("GET", "/version?" + SECRET.replace(" ", "%20")).read()
    with connect(url_of(server)) as socket:
        ask(socket, input=SECRET, max_output_tokens=1)
        ask(socket, input=SECRET, temperature=-1)
    last_line(server)
    assert "launch" not in server.log()


def test_what_is_asked_is_in_the_log_when_that_is_wanted_and_cut_between_characters(start_server: StartServer):
    server = start_server(log={"prompts": True, "format": "json"})
    for first in range(4):
        body = {"prompt": "x" * first + "\U0001f984" * 1000, "max_tokens": 1}
        with RawClient(server.port) as raw:
            raw.send_request("POST", "/v1/completions", f"X-Request-Id: unicorns-{first}",
                             body=json.dumps(body, ensure_ascii=False).encode()).read()
        line = json.loads(server.wait_for_log(f".*unicorns-{first}.*")[0])
        assert "\U0001f984" * 100 in line["body"] and line["body"].endswith("...")
        assert "\ufffd" not in line["body"] and len(line["body"].encode()) <= 1003


def test_what_a_websocket_asks_is_in_the_log_too_when_that_is_wanted(start_server: StartServer):
    server = start_server(log={"prompts": True})
    with connect(url_of(server)) as socket:
        ask(socket, input="The first unicorn.", max_output_tokens=1)
        ask(socket, input="The second unicorn.", max_output_tokens=1)
    assert "first unicorn" in server.wait_for_log(".*WS /v1/responses.*")[0]
    server.wait_for_log(".*second unicorn.*")


class UnreadServer:
    """A server whose log is read up to where it listens, and no further."""

    def __init__(self, folder: Path) -> None:
        write_config(folder / "weft.toml", {})
        self.process = subprocess.Popen(
            [program(), "serve", str(MODEL), "--port", "0", "--config", str(folder / "weft.toml")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert self.process.stderr
        listening = re.search(rb"127\.0\.0\.1:(\d+)", self.process.stderr.readline())
        assert listening
        self.client = HTTPConnection("127.0.0.1", int(listening[1]), timeout=PATIENCE_S)

    def status(self, path: str) -> int:
        self.client.request("GET", path)
        with self.client.getresponse() as answer:
            answer.read()
            return answer.status

    def end(self) -> int:
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


@pytest.fixture(name="unread")
def start_unread_server(tmp_path: Path) -> Iterator[UnreadServer]:
    server = UnreadServer(tmp_path)
    yield server
    server.process.kill()
    server.process.wait()


def test_a_log_that_nobody_reads_stops_neither_requests_nor_the_servers_end(unread: UnreadServer):
    # A pipe takes some 500 lines.
    assert all(unread.status("/version") == 200 for _ in range(1500))
    assert unread.status("/live") == 200
    assert unread.end() == 0


def test_a_log_whose_reader_has_gone_does_not_end_the_server(unread: UnreadServer):
    assert unread.process.stderr
    unread.process.stderr.close()
    assert all(unread.status("/version") == 200 for _ in range(20))
    assert unread.end() == 0
