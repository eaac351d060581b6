"""The server under TLS, with a certificate that openssl has made for the tests."""

import asyncio
import json
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from conftest import StartServer, client_of
from prompts import ENDLESS_BODY, MODEL, QUESTION
from raw_http import RawClient
from raw_websocket import CLOSE, ENDS, PING, TEXT, RawWebSocket, close_frame, frame
from response_socket import create
from waiting import PATIENCE_S, eventually
from weft_server import WeftServer

SMALL = {"messages": QUESTION, "max_tokens": 2, "temperature": 0}

Dial = Callable[[], ssl.SSLSocket]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a certificate, and its key beside it."""
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=weft", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                    "-out", "weft.pem", "-keyout", "weft.key"], cwd=folder, check=True, capture_output=True)
    return folder / "weft.pem"


@pytest.fixture(scope="module")
def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate)


@pytest.fixture(scope="module")
def tls_server(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeftServer]:
    made = WeftServer(tmp_path_factory.mktemp("tls"), {
        "server": {"tls_certificate": str(certificate), "tls_key": str(certificate.with_suffix(".key"))},
        "limits": {"header_timeout_s": 2}})
    yield made
    made.stop()


@pytest.fixture
def secure(tls_server: WeftServer) -> Iterator[WeftServer]:
    sockets = tls_server.descriptors()
    yield tls_server
    tls_server.wait_until_idle()
    eventually(lambda: tls_server.descriptors() <= sockets, "no connection is left")
    tls_server.expect_clean_log()


@pytest.fixture
def dial(secure: WeftServer, trusting: ssl.SSLContext) -> Iterator[Dial]:
    """A TLS connection, which is an error when it is cut without a goodbye."""
    made: list[ssl.SSLSocket] = []

    def dial_one() -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", secure.port), PATIENCE_S)
        made.append(trusting.wrap_socket(plain, server_hostname="localhost", suppress_ragged_eofs=False))
        return made[-1]

    yield dial_one
    for one in made:
        one.close()


def test_openais_client_speaks_to_it(secure: WeftServer, trusting: ssl.SSLContext):
    assert secure.url.startswith("https://")
    with httpx.Client(verify=trusting) as http, client_of(secure, http_client=http) as client:
        whole = client.chat.completions.create(model=MODEL, **SMALL)
        with client.chat.completions.create(model=MODEL, stream=True, **SMALL) as stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert text == whole.choices[0].message.content


def test_a_client_that_does_not_trust_it_does_not_speak_to_it(secure: WeftServer):
    with httpx.Client() as http, pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        http.get(secure.url + "/live")


def test_a_websocket_speaks_to_it(secure: WeftServer, trusting: ssl.SSLContext):
    # Not by a client with a thread for reading: Python 3.11 lets two threads into one TLS connection at once, and a
    # read beside a write may fail.
    async def talk() -> int | None:
        async with connect(f"wss://127.0.0.1:{secure.port}/v1/responses", ssl=trusting, open_timeout=PATIENCE_S) as ws:
            await ws.send(create(max_output_tokens=100))
            kind = ""
            while kind not in ENDS:
                kind = json.loads(await ws.recv())["type"]
            assert kind == "response.completed"
            await ws.close(4000)
        return ws.close_code

    assert asyncio.run(asyncio.wait_for(talk(), PATIENCE_S)) == 4000


def test_old_versions_are_not_spoken(secure: WeftServer):
    for version in ("-tls1", "-tls1_1"):
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{secure.port}", version, "-cipher",
                               "ALL@SECLEVEL=0"], capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
        assert done.returncode != 0
        assert b"alert protocol version" in done.stderr, done.stderr


@pytest.mark.parametrize("hello", [
    b"GET /live HTTP/1.1\r\nHost: weft\r\n\r\n", b"\0" * 100, b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03",
    b"\x16\x03\x03\xff\xff" + b"\x01" * 100, b"\x15\x03\x03\x00\x02\x02\x00"],
    ids=["plain HTTP", "zeros", "half a hello", "a record that is too long", "an alert"])
def test_what_is_no_handshake_is_closed(secure: WeftServer, hello: bytes):
    with RawClient(secure.port) as raw:
        raw.send(hello)
        raw.socket.shutdown(socket.SHUT_WR)
        try:
            answer = raw.take(1000)
        except ConnectionResetError:
            answer = b""
        assert not answer or answer[0] == 0x15, "an alert at most, and no word of HTTP"


def test_a_handshake_that_is_not_gone_on_with_ends_by_time(secure: WeftServer):
    with RawClient(secure.port) as raw:
        raw.send(b"\x16\x03\x01")
        assert raw.is_at_end()


def test_a_client_that_cuts_the_connection_takes_its_request_along(secure: WeftServer, dial: Dial):
    with RawClient(dial()) as raw:
        raw.post("/v1/completions", {"prompt": "Once", "stream": True, **ENDLESS_BODY})
        assert raw.read_head().status == 200
    # The client closes without TLS's goodbye.
    eventually(lambda: not secure.running(), "the request is gone with its client")


def test_an_answer_that_ends_with_the_connection_ends_with_a_goodbye(dial: Dial):
    with RawClient(dial()) as raw:
        body = json.dumps({"prompt": "Once", "max_tokens": 3, "stream": True}).encode()
        raw.send(b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert raw.read().body.endswith(b"data: [DONE]\n\n")  # an SSLEOFError else


def test_a_client_that_asks_to_close_is_told_goodbye(dial: Dial):
    with RawClient(dial()) as raw:
        assert raw.send_request("GET", "/version", "Connection: close").read().status == 200
        assert raw.take(1) == b""


def test_a_refusal_can_be_read_by_a_client_that_still_sends(dial: Dial):
    with RawClient(dial()) as raw:
        raw.send(b"POST /tokenize HTTP/1.1\r\nHost: weft\r\nContent-Length: 100000000\r\n\r\n" + b"x" * (1 << 20))
        assert raw.read().status == 413


def test_a_websocket_that_is_closed_is_told_goodbye(dial: Dial):
    with RawClient(dial()) as raw:
        ws = RawWebSocket(raw).send(close_frame(1000))
        assert ws.read().code() == 1000
        assert raw.take(1) == b""


@pytest.mark.parametrize("behind", [b"", frame(PING, b"x") * 1000, b"\0" * (1 << 20)], ids=["nothing", "pings", "zeros"])
def test_a_websockets_close_can_be_read_whatever_is_behind_it(dial: Dial, behind: bytes):
    with RawClient(dial()) as raw:
        ws = RawWebSocket(raw)
        try:
            ws.send(close_frame(1000) + behind)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it need not take what comes too late
        got = ws.read()
        assert (got.opcode, got.code()) == (CLOSE, 1000)


def test_a_websocket_that_is_cut_takes_its_response_along(secure: WeftServer, dial: Dial):
    with RawClient(dial()) as raw:
        ws = RawWebSocket(raw).send(frame(TEXT, create(ignore_eos=True, max_output_tokens=900).encode()))
        assert json.loads(ws.read().payload)["type"] == "response.created"
        raw.socket.shutdown(socket.SHUT_RDWR)
        eventually(lambda: not secure.running(), "it is gone")


def test_a_server_that_ends_tells_goodbye(start_server: StartServer, certificate: Path, trusting: ssl.SSLContext):
    server = start_server(server={"tls_certificate": str(certificate), "tls_key": str(certificate.with_suffix(".key"))})

    async def talk() -> int | None:
        uri = f"wss://127.0.0.1:{server.port}/v1/responses"
        async with connect(uri, ssl=trusting, open_timeout=PATIENCE_S) as ws:
            server.kill()
            with pytest.raises(ConnectionClosed):
                await ws.recv()
        return ws.close_code

    assert asyncio.run(asyncio.wait_for(talk(), PATIENCE_S)) == 1001
    assert server.wait() == 0


@pytest.mark.parametrize("broken", ["no certificate", "another key", "no file"])
def test_a_certificate_that_will_not_do_is_said_so(start_server: StartServer, certificate: Path, tmp_path: Path,
                                                   broken: str):
    files = {"tls_certificate": str(certificate), "tls_key": str(certificate.with_suffix(".key"))}
    if broken == "no certificate":
        (tmp_path / "weft.pem").write_text("no certificate\n")
        files["tls_certificate"] = str(tmp_path / "weft.pem")
    elif broken == "another key":
        files["tls_key"] = str(tmp_path / "other.key")
        subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-out", files["tls_key"]], check=True,
                       capture_output=True)
    else:
        files["tls_key"] = str(tmp_path / "none.key")
    with pytest.raises(AssertionError) as caught:
        start_server(server=files)
    assert files["tls_certificate" if broken == "no certificate" else "tls_key"] + ": " in str(caught.value)
