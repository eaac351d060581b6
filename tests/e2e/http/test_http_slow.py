"""Clients that are too slow, or fall silent, on purpose or not."""

import time

import pytest

from conftest import StartServer
from prompts import ENDLESS_BODY, LONG_BODY
from raw_http import RawClient

IDLE_S = 0.5


@pytest.fixture
def strict(start_server: StartServer):
    return start_server(limits={"header_timeout_s": 0.5, "idle_timeout_s": IDLE_S, "write_timeout_s": 1,
                                "min_body_rate": 1_000_000})


def test_h8_a_header_that_never_ends_is_408(strict):
    with RawClient(strict.port) as raw:
        raw.send("GET /live HTTP/1.1\r\nHost: we")
        answer = raw.read()
        assert (answer.status, answer.error()["code"]) == (408, "request_timeout")
        assert raw.is_at_end()


def test_h8_a_body_that_trickles_is_408(strict):
    with RawClient(strict.port) as raw:
        raw.send("POST /tokenize HTTP/1.1\r\nHost: weft\r\nContent-Length: 1000\r\n\r\n{")
        assert raw.read().status == 408
        assert raw.is_at_end()


def test_a_connection_that_asks_for_nothing_is_closed(strict):
    with RawClient(strict.port) as raw:
        assert raw.is_at_end()
    with RawClient(strict.port) as raw:
        assert raw.send_request("GET", "/live").read().status == 200
        assert raw.is_at_end()


def test_a_stream_that_is_slow_to_come_is_not_idle(strict):
    with RawClient(strict.port) as raw:
        raw.post("/v1/completions", LONG_BODY)
        assert raw.read_head().status == 200
        end = time.monotonic() + 3 * IDLE_S
        assert any(time.monotonic() > end for _ in raw.chunks()), "it goes on"


def test_a_client_that_reads_nothing_is_let_go(start_server: StartServer):
    server = start_server(limits={"max_unread_bytes": 4096, "write_timeout_s": 1})
    with RawClient(server.port) as raw:
        raw.socket.setsockopt(1, 8, 1)  # SOL_SOCKET, SO_RCVBUF: the smallest there is
        raw.post("/v1/completions", {"prompt": "Once", "stream": True, "logprobs": 20, **ENDLESS_BODY})
        server.wait_for_log("client_too_slow")
        server.wait_until_idle()
        assert server.metric("weft_slow_readers_total") == 1


def test_a_client_that_takes_nothing_for_too_long_is_let_go_and_counted(start_server: StartServer):
    server = start_server(limits={"write_timeout_s": 1})
    with RawClient(server.port) as raw:
        raw.socket.setsockopt(1, 8, 1)
        raw.post("/v1/completions", {"prompt": "Once", "stream": True, "logprobs": 20, **ENDLESS_BODY})
        server.wait_for_log("client_too_slow")
        assert server.metric('weft_slow_readers_total{limit="write_timeout"}') == 1
