"""Requests that are more than the server takes, or wrong: refused, and nothing else happens.

The numbers in the names of the tests are those of docs/bad-inputs.md.
"""

import json

import pytest

from prompts import QUESTION
from raw_http import RawClient

POST = "POST /tokenize HTTP/1.1\r\nHost: weft\r\n"


def expect_refused(raw: RawClient, status: int, code: str) -> None:
    answer = raw.read()
    assert (answer.status, answer.error()["code"]) == (status, code)
    assert answer.headers["connection"] == "close"
    assert raw.is_at_end()


def test_h1_a_huge_header_is_431(raw: RawClient):
    raw.send("GET /live HTTP/1.1\r\nHost: weft\r\nX-Big: " + "x" * 17_000)
    expect_refused(raw, 431, "header_too_large")


def test_h1_a_huge_target_is_431(raw: RawClient):
    raw.send("GET /" + "x" * 17_000)
    expect_refused(raw, 431, "header_too_large")


def test_h1_many_fields_are_431(raw: RawClient):
    raw.send("GET /live HTTP/1.1\r\nHost: weft\r\n" + "A: b\r\n" * 200 + "\r\n")
    expect_refused(raw, 431, "header_too_large")


def test_w6_a_huge_handshake_is_431(raw: RawClient):
    raw.send("GET /v1/responses HTTP/1.1\r\nHost: weft\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: " + "x" * 17_000)
    expect_refused(raw, 431, "header_too_large")


@pytest.mark.parametrize("endless", ["0\r\n" + "A: b\r\n" * 20_000, "1;" + "x" * 100_000, "0\r\nA: " + "b" * 100_000])
def test_h1_trailers_and_chunk_extensions_without_end_are_431(raw: RawClient, endless: str):
    raw.send(POST + "Transfer-Encoding: chunked\r\n\r\n" + endless[:65_600])
    expect_refused(raw, 431, "header_too_large")


def test_h2_half_a_million_chunks_of_one_byte_are_one_body(raw: RawClient):
    body = b'{"prompt":"' + b"x " * 250_000 + b'"}'
    raw.send(POST + "Transfer-Encoding: chunked\r\n\r\n")
    raw.send(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
    answer = raw.read()
    assert (answer.status, answer.json()["count"] > 100_000) == (200, True)


@pytest.mark.parametrize("length", [(8 << 20) + 1, 10**10, 2**63, 2**64 - 1])
def test_h3_a_body_over_the_limit_is_refused_before_it_is_sent(raw: RawClient, length: int):
    raw.send(POST + f"Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n")
    expect_refused(raw, 413, "body_too_large")


def test_h3_chunks_over_the_limit_are_413(raw: RawClient):
    raw.send(POST + "Transfer-Encoding: chunked\r\n\r\n" + f"{2**30:x}\r\n")
    expect_refused(raw, 413, "body_too_large")


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate, gzip", "x-nothing"])
def test_a_body_that_is_compressed_is_415(raw: RawClient, coding: str):
    raw.send_request("POST", "/v1/completions", f"Content-Encoding: {coding}", body=b"\x1f\x8b\x08\x00")
    answer = raw.read()
    assert (answer.status, answer.error()["code"]) == (415, "unsupported_content_encoding")
    assert answer.headers["accept-encoding"] == "identity"
    assert raw.send_request("GET", "/version").read().status == 200, "the connection goes on"


def test_a_body_that_says_that_it_is_not_compressed_is_taken(raw: RawClient):
    answer = raw.send_request("POST", "/tokenize", "Content-Encoding: identity", body=b'{"prompt":"x"}').read()
    assert answer.status == 200


@pytest.mark.parametrize("fields", [
    {"max_tokens": 2**63}, {"max_tokens": 1e30}, {"max_tokens": -1}, {"n": 10**9}, {"n": 0}, {"top_k": 2**31},
    {"temperature": 1e9}, {"top_logprobs": 21, "logprobs": True}, {"logit_bias": {"99999999": 1}},
    {"logit_bias": {"-1": 1}}, {"stop": ["x"] * 17}, {"stop": [""]}, {"stop_token_ids": [2**40]}, {"min_tokens": 2**31}])
def test_h4_numbers_out_of_range_are_400(raw: RawClient, fields: dict):
    answer = raw.post("/v1/chat/completions", {"messages": QUESTION, **fields}).read()
    assert (answer.status, answer.error()["type"]) == (400, "invalid_request_error")
    assert answer.error()["param"].split("[")[0].split(".")[0] in fields


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "1" * 400, "0x10", "01", "1e", str(2**64)])
def test_h4_what_is_no_number_is_400(raw: RawClient, number: str):
    body = b'{"prompt":"x","max_tokens":1,"temperature":%s}' % number.encode()
    assert raw.send_request("POST", "/v1/completions", body=body).read().status == 400


@pytest.mark.parametrize("path", ["/v1/responses/..%2f..%2fetc%2fpasswd", "/v1/models/..%2f..%2fconfig.json",
                                  "/v1/responses/../../etc/passwd", "/v1/models//etc/passwd"])
def test_h6_h7_no_name_is_a_path_and_no_error_tells_of_the_inside(raw: RawClient, path: str):
    answer = raw.send_request("GET", path).read()
    assert answer.status == 404
    for inside in (b"passwd", b".cc", b"0x", b"demo_model", b"boost", b"::"):
        assert inside not in answer.body


@pytest.mark.parametrize("head", [
    "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
    "Content-Length: 2\r\nContent-Length: 3\r\n",
    "Content-Length: 2, 3\r\n",
    "Content-Length: 2, 2\r\n",
    "Content-Length: 2\r\nContent-Length: 2\r\n",
    "Transfer-Encoding:\r\n chunked\r\n",
    "Transfer-Encoding: chunked\r\n\t\r\n",
    "X-Folded: a\r\n b\r\n",
    "Content-Length:\r\n 2\r\n",
    "Content-Length: +2\r\n",
    "Content-Length: -1\r\n",
    "Content-Length: 0x2\r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Content-Length:\r\n",
    "Transfer-Encoding: chunked, chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Transfer-Encoding: chunked, identity\r\n",
    "Transfer-Encoding: xchunked\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: \"chunked\"\r\n",
    "Transfer-Encoding:\r\n",
    "Host : other\r\n",
    "Host: other\r\n",
    "Na\x00me: x\r\n",
    "Name: x\x00y\r\n",
    "no colon\r\n",
])
def test_h9_a_header_that_two_servers_could_read_differently_is_400(raw: RawClient, head: str):
    raw.send(POST + head + "\r\n{}GET /version HTTP/1.1\r\nHost: weft\r\n\r\n")
    answer = raw.read()
    assert answer.status == 400
    assert answer.headers["connection"] == "close"
    assert raw.is_at_end()


@pytest.mark.parametrize("host", [b"we\xc3\xb6ft", b"\x80", b"we ft", b"me@weft", b"weft/", b"weft, other"])
def test_h9_a_host_that_is_none_is_400(raw: RawClient, host: bytes):
    raw.send(b"GET /live HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
    expect_refused(raw, 400, "bad_request")


@pytest.mark.parametrize("body, path", [
    (b'{"prompt":"x","max_tokens":1,"prompt":"y"}', "prompt"), (b'{"prompt":"x","temperature":0,"temper\\u0061ture":1}', "temperature"),
    (b'{"prompt":"x","logit_bias":{"5":1,"5":2}}', "logit_bias.5"), (b'{"prompt":"x","metadata":[{"a":{"b":1,"b":1}}]}', "metadata[0].a.b")])
def test_h11_a_field_that_stands_twice_is_400_by_its_name(raw: RawClient, body: bytes, path: str):
    answer = raw.send_request("POST", "/v1/completions", body=body).read()
    assert (answer.status, answer.error()["code"], answer.error()["param"]) == (400, "duplicate_parameter", path)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 400, str(2**64), str(-2**63 - 1)])
def test_h4_a_number_beyond_64_bits_is_400_with_its_name(raw: RawClient, number: str):
    body = b'{"prompt":"x","logit_bias":{"5":1,"6":%s}}' % number.encode()
    error = raw.send_request("POST", "/v1/completions", body=body).read().error()
    assert (error["code"], error["param"]) == ("invalid_value", "logit_bias.6")


def test_h11_a_byte_order_mark_before_a_body_is_400(raw: RawClient):
    answer = raw.send_request("POST", "/tokenize", body=b'\xef\xbb\xbf{"prompt":"x"}').read()
    assert (answer.status, answer.error()["code"]) == (400, "invalid_json")
    assert "byte order mark" in answer.error()["message"]


@pytest.mark.parametrize("request_bytes", [
    b"GET /version HTTP/1.1\nHost: weft\n\n", b"GET /version HTTP/1.1\r\nHost: weft\n\r\n",
    b"GET  /version HTTP/1.1\r\nHost: weft\r\n\r\n", b"GET /version\r\n\r\n", b"GET /version HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"SSH-2.0-OpenSSH_9.2\r\n", b"\0" * 100,
    b"GET /version HTTP/1.1\r\r\nHost: weft\r\n\r\n", b"G\xc3\xa4T / HTTP/1.1\r\nHost: weft\r\n\r\n"])
def test_h9_what_is_no_request_is_refused(raw: RawClient, request_bytes: bytes):
    raw.send(request_bytes)
    answer = raw.read()
    assert answer.status in (400, 505), "a line that ends wrongly is one of a version that is not spoken"
    assert raw.is_at_end()


@pytest.mark.parametrize("chunks", [
    b"-1\r\n", b"0x1\r\nx\r\n", b"g\r\n", b"1\r\nxx\r\n", b"1\nx\n0\n\n", b"ffffffffffffffff\r\n",
    b"10000000000000001\r\nx\r\n0\r\n\r\n", b"\r\n"])
def test_h9_broken_chunks_are_refused(raw: RawClient, chunks: bytes):
    raw.send(POST.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"\r\n\r\n")
    answer = raw.read()
    assert answer.status in (400, 413)
    assert raw.is_at_end()


def test_http_2_and_0_9_are_not_spoken(server):
    for line, statuses in (("GET /version HTTP/2.0", (400, 505)), ("GET /version HTTP/0.9", (400, 505)),
                           ("PRI * HTTP/2.0", (400, 505)), ("GET /version HTTP/1.10", (400, 505))):
        with RawClient(server.port) as raw:
            assert raw.send(line + "\r\nHost: weft\r\n\r\n").read().status in statuses


@pytest.mark.parametrize("body", [
    b'{"model":"\xff\xfe","messages":[]}', b'{"\xff":1}', b'{"messages":[{"role":"\xc3"}]}', b"\xff", b"{", b"[1]", b"5",
    b"", b"null", b'{"messages":null}', b'{"messages":[]}', b'{"messages":5}', b"[" * 100_000,
    b'{"a":' * 100_000, b'{"messages":[{"role":"user","content":5}]}', b'{"messages":[{"role":"user"}]}',
    b'{"messages":[{"role":"user","content":"\\ud800"}]}', b'{"messages":[{"role":"user","content":"\xed\xa0\x80"}]}'])
def test_h10_a_broken_body_is_a_400_in_clean_json(raw: RawClient, body: bytes):
    answer = raw.send_request("POST", "/v1/chat/completions", body=body) if body else raw.send(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: weft\r\nContent-Length: 0\r\n\r\n")
    read = answer.read()
    assert read.status == 400
    error = json.loads(read.body.decode("utf-8", errors="strict"))["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert raw.send_request("GET", "/live").read().status == 200, "the connection goes on"
