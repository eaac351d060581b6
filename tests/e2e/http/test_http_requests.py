"""HTTP as clients may speak it."""

import pytest

from prompts import QUESTION
from raw_http import RawClient

SMALL = {"messages": QUESTION, "max_tokens": 2, "temperature": 0}


def test_two_requests_in_one_write_are_answered_in_order(raw: RawClient):
    one = b"POST /tokenize HTTP/1.1\r\nHost: weft\r\nContent-Length: 16\r\n\r\n" + b'{"prompt":"One"}'
    raw.send(one + b"GET /version HTTP/1.1\r\nHost: weft\r\n\r\n")
    assert "tokens" in raw.read().json()
    assert "version" in raw.read().json()


def test_a_thousand_requests_in_one_write_are_answered(raw: RawClient):
    raw.send(b"GET /live HTTP/1.1\r\nHost: weft\r\n\r\n" * 1000)
    assert {raw.read().status for _ in range(1000)} == {200}


def test_a_stream_and_what_is_behind_it_in_the_pipe_are_answered_in_order(raw: RawClient):
    raw.post("/v1/chat/completions", {**SMALL, "stream": True}).send_request("GET", "/version")
    stream = raw.read()
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert stream.body.endswith(b"data: [DONE]\n\n")
    assert "version" in raw.read().json()


def test_http_1_0_is_answered_and_closed(raw: RawClient):
    raw.send("GET /version HTTP/1.0\r\n\r\n")
    answer = raw.read()
    assert (answer.version, answer.status) == ("HTTP/1.0", 200)
    assert "transfer-encoding" not in answer.headers
    assert raw.is_at_end()


def test_http_1_0_streams_to_the_end_of_the_connection(raw: RawClient):
    body = b'{"prompt":"One","max_tokens":3,"stream":true}'
    raw.send(b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    answer = raw.read()
    assert "transfer-encoding" not in answer.headers
    assert answer.body.startswith(b"data: {") and answer.body.endswith(b"data: [DONE]\n\n")


def test_http_1_0_with_keep_alive_stays_open(raw: RawClient):
    for _ in range(2):
        raw.send("GET /version HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        answer = raw.read()
        assert (answer.status, answer.headers["connection"]) == (200, "keep-alive")


@pytest.mark.parametrize("path", ["/", "/health", "/version", "/v1/models"])
def test_head_is_get_without_its_body(raw: RawClient, path: str):
    whole = raw.send_request("GET", path).read()
    head = raw.send_request("HEAD", path).read(head=True)
    assert (head.status, head.headers["content-length"]) == (200, str(len(whole.body)))
    assert raw.send_request("GET", "/version").read().status == 200, "no body came behind it"


def test_a_body_may_come_in_chunks(raw: RawClient):
    raw.send("POST /tokenize HTTP/1.1\r\nHost: weft\r\nTransfer-Encoding: chunked\r\n\r\n")
    for piece in (b'{"pro', b'mpt":"One two three"', b"}"):
        raw.send(b"%x;name=value\r\n%s\r\n" % (len(piece), piece))
    raw.send("0\r\nTrailer-Field: yes\r\n\r\n")
    assert raw.read().json()["count"] > 1


def test_a_body_may_come_byte_by_byte(raw: RawClient):
    body = b'{"prompt":"One"}'
    for byte in b"POST /tokenize HTTP/1.1\r\nHost: weft\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body):
        raw.send(bytes([byte]))
    assert raw.read().status == 200


def test_a_client_that_waits_for_100_continue_gets_it_before_its_body(raw: RawClient):
    body = b'{"prompt":"' + b" word" * 400_000 + b'"}'
    raw.send(f"POST /tokenize HTTP/1.1\r\nHost: weft\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n")
    assert raw.read().status == 100
    answer = raw.send(body).read()
    assert (answer.status, answer.json()["count"] > 100_000) == (200, True)


def test_a_client_that_asks_to_close_is_told_so(raw: RawClient):
    answer = raw.send_request("GET", "/version", "Connection: close").read()
    assert answer.headers["connection"] == "close"
    assert raw.is_at_end()


def test_a_target_may_be_a_whole_url_and_escaped(raw: RawClient):
    assert raw.send_request("GET", "http://weft/version").read().status == 200
    assert raw.send_request("GET", "/%76ersion?x=1").read().status == 200


def test_a_get_of_responses_without_upgrade_is_426(raw: RawClient):
    answer = raw.send_request("GET", "/v1/responses").read()
    assert (answer.status, answer.headers["upgrade"]) == (426, "websocket")


@pytest.mark.parametrize("method, path, allowed", [
    ("GET", "/v1/chat/completions", "POST"), ("POST", "/v1/models", "GET"), ("DELETE", "/v1/responses", "POST, GET"),
    ("PUT", "/v1/responses/resp_1", "GET, DELETE"), ("BREW", "/version", "GET")])
def test_a_wrong_method_is_405_and_tells_the_right_ones(raw: RawClient, method: str, path: str, allowed: str):
    answer = raw.send_request(method, path).read()
    assert (answer.status, answer.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize("path", ["/v2", "/v1/chat", "/v1/chat/completion/", "/v1//model", "/..", "/%2e%2e/%2e%2e/etc"])
def test_a_path_that_there_is_not_is_404(raw: RawClient, path: str):
    answer = raw.send_request("GET", path).read()
    assert (answer.status, answer.error()["code"]) == (404, "not_found")


def test_the_page_and_the_metrics_are_there(raw: RawClient):
    page = raw.send_request("GET", "/").read()
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src" in page.headers["content-security-policy"]
    metrics = raw.send_request("GET", "/metrics").read()
    assert b"# TYPE weft_" in metrics.body
