"""The server behind nginx, with nginx's own defaults."""

from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from websockets.sync.client import connect

from conftest import client_of
from nginx import needs_nginx, run_nginx
from prompts import ENDLESS, MODEL, QUESTION
from rank_processes import free_port
from response_socket import ask, text_of
from waiting import eventually
from weft_server import WeftServer

CONFIG = """
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
"""

pytestmark = needs_nginx


@pytest.fixture
def proxy(server: WeftServer, tmp_path: Path) -> Iterator[int]:
    """The port that nginx listens on."""
    port = free_port()
    with run_nginx(tmp_path, CONFIG.format(port=port, upstream=server.port), port):
        yield port


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
