"""The server behind nginx, with nginx's own defaults."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from websockets.sync.client import connect

from conftest import client_of
from prompts import ENDLESS, MODEL, QUESTION
from response_socket import ask, text_of
from waiting import eventually
from weft_server import WeftServer

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")

CONFIG = """
daemon off;
master_process off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  server {{
    listen 127.0.0.1:{port};
    client_max_body_size 8m;
    location / {{
      proxy_pass http://127.0.0.1:{upstream};
      proxy_http_version 1.1;
      proxy_set_header Host $host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }}
  }}
}}
"""

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian: nginx-light)")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def proxy(server: WeftServer, tmp_path: Path) -> Iterator[int]:
    """The port that nginx listens on."""
    port = free_port()
    config = tmp_path / "nginx.conf"
    config.write_text(CONFIG.format(folder=tmp_path, port=port, upstream=server.port))
    with subprocess.Popen([NGINX, "-c", str(config), "-e", str(tmp_path / "error.log"), "-p", str(tmp_path)]) as nginx:
        try:
            eventually(lambda: nginx.poll() is not None or accepts(port), "nginx listens")
            assert nginx.poll() is None, (tmp_path / "error.log").read_text()
            yield port
        finally:
            nginx.terminate()


@pytest.fixture
def client(server: WeftServer, proxy: int) -> Iterator[openai.OpenAI]:
    with client_of(server, base_url=f"http://127.0.0.1:{proxy}/v1") as made:
        yield made


def test_an_answer_comes_through(client):
    answer = client.chat.completions.create(model=MODEL, messages=QUESTION, max_tokens=8)
    assert answer.choices[0].message.content


def test_a_stream_arrives_while_it_is_made_and_is_gone_when_its_client_is(server, client):
    with client.chat.completions.create(model=MODEL, messages=QUESTION, stream=True, **ENDLESS) as stream:
        events = iter(stream)
        for _ in range(20):
            next(events)
        assert len(server.running()) == 1, "twenty events are here, and the rest is still to come"
    eventually(lambda: not server.running(), "nginx has passed on that the client is gone")


def test_an_error_comes_through(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model=MODEL, messages=QUESTION, temperature=-1)
    assert caught.value.param == "temperature"


def test_a_websocket_is_upgraded(proxy):
    with connect(f"ws://127.0.0.1:{proxy}/v1/responses") as socket:
        events = ask(socket, max_output_tokens=100)
        assert events[-1]["type"] == "response.completed"
        assert text_of(events)
        follow = ask(socket, input="And then?", previous_response_id=events[-1]["response"]["id"])
        assert follow[-1]["response"]["previous_response_id"] == events[-1]["response"]["id"]
