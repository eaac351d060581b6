"""The server at a Unix socket."""

import json
import socket
import subprocess
from pathlib import Path

import pytest
from websockets.sync.client import unix_connect

from conftest import StartServer
from curl import curl
from raw_http import RawClient
from response_socket import ask
from test_process import listening
from waiting import PATIENCE_S, eventually
from weft_server import MODEL, WeftServer, program


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "weft.sock"


def serve(start_server: StartServer, path: Path) -> WeftServer:
    """A server that listens at a port, too, by which the tests look at it."""
    server = start_server(server={"unix_socket": str(path)})
    server.wait_for_log(f"listening on unix:{path}$")
    return server


def dial(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(PATIENCE_S)
    made.connect(str(path))
    return made


def test_curl_is_answered(start_server: StartServer, path: Path):
    server = serve(start_server, path)
    assert json.loads(curl("--unix-socket", str(path), "http://weft/live").stdout) == {"status": "ok"}
    done = curl("--unix-socket", str(path), "http://weft/v1/completions", "-d", '{"prompt":"Once","max_tokens":2}')
    assert json.loads(done.stdout)["usage"]["completion_tokens"] == 2
    server.wait_for_log("unix POST /v1/completions 200")


def test_a_websocket_is_answered(start_server: StartServer, path: Path):
    serve(start_server, path)
    with unix_connect(str(path), "ws://weft/v1/responses", open_timeout=PATIENCE_S) as ws:
        assert ask(ws, max_output_tokens=100)[-1]["type"] == "response.completed"


def test_a_client_that_leaves_takes_its_request_along(start_server: StartServer, path: Path):
    server = serve(start_server, path)
    with RawClient(dial(path)) as raw:
        raw.post("/v1/completions", {"prompt": "Once", "stream": True, "max_tokens": 900, "ignore_eos": True})
        assert raw.read_head().status == 200
    eventually(lambda: not server.running(), "the request is gone with its client")


def test_the_socket_file_is_gone_with_the_server(start_server: StartServer, path: Path):
    server = serve(start_server, path)
    assert path.is_socket()
    server.stop()
    assert not path.exists()


def test_a_socket_file_that_a_killed_server_has_left_is_taken_over(start_server: StartServer, path: Path):
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    assert path.is_socket()
    serve(start_server, path)
    with RawClient(dial(path)) as raw:
        assert raw.send_request("GET", "/live").read().status == 200


def test_a_socket_file_that_is_in_use_is_left_alone(start_server: StartServer, path: Path):
    serve(start_server, path)
    with pytest.raises(AssertionError) as caught:
        start_server(server={"unix_socket": str(path)})
    assert f"{path}: Address already in use" in str(caught.value)
    with RawClient(dial(path)) as raw:
        assert raw.send_request("GET", "/live").read().status == 200, "the first one still has it"


def test_a_file_that_is_no_socket_is_left_alone(start_server: StartServer, path: Path):
    path.write_text("precious")
    with pytest.raises(AssertionError) as caught:
        start_server(server={"unix_socket": str(path)})
    assert f"{path}: Address already in use" in str(caught.value)
    assert path.read_text() == "precious"


def test_a_path_that_is_too_long_is_said_so(start_server: StartServer, path: Path):
    with pytest.raises(AssertionError) as caught:
        start_server(server={"unix_socket": str(path) + "x" * 200})
    assert "File name too long" in str(caught.value)


def test_without_a_host_there_is_no_port(path: Path, tmp_path: Path):
    config = tmp_path / "weft.toml"
    config.write_text(f'[server]\nhost = ""\nunix_socket = "{path}"\n[memory]\nmax_rows = 4\nmax_pages = 256\nmax_context = 1024\n')
    with subprocess.Popen([program(), "serve", str(MODEL), "--config", str(config)], stderr=subprocess.DEVNULL) as process:
        try:
            eventually(path.is_socket, "it listens")
            with RawClient(dial(path)) as raw:
                assert raw.send_request("GET", "/live").read().status == 200
            assert listening(process.pid) == []
        finally:
            process.terminate()
            assert process.wait(PATIENCE_S) == 0
