"""One server with several models, which come and go while others serve."""

import base64
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest
from websockets.sync.client import connect

from conftest import StartServer, chat, client_of
from prompts import STORY
from raw_http import RawClient
from response_socket import ask, text_of, url_of
from script_model import write_script_model
from waiting import eventually
from weft_server import MODEL as DEMO
from weft_server import WeftServer

HELLO = "Hello! What shall I look up?"


@pytest.fixture(scope="session")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_script_model(tmp_path_factory.mktemp("models") / "script")


@pytest.fixture
def models(script: Path) -> list[dict[str, Any]]:
    return [{"name": "demo", "path": str(DEMO), "memory.max_rows": 8, "memory.max_pages": 512},
            {"name": "script", "path": str(script), "aliases": ["hello", "gpt-4o-mini"], "memory.max_rows": 4,
             "memory.max_context": 512, "memory.max_pages": 64}]


def says(client: openai.OpenAI, model: str | None) -> str:
    answer = chat(client, model=model, messages=STORY, max_tokens=16, temperature=0)
    return answer.choices[0].message.content


def post(server: WeftServer, path: str, body: dict[str, Any], *headers: str) -> tuple[int, Any]:
    if not any(header.startswith("Host:") for header in headers):
        headers = ("Host: localhost", *headers)
    with RawClient(server.port) as raw:
        answer = raw.post(path, body, *headers).read()
        return answer.status, answer.json()


def states(server: WeftServer) -> dict[str, str]:
    return {model["id"]: model["status"]["value"] for model in server.get("/v1/models")["data"]}


def test_openais_client_finds_two_models_by_name(start_server: StartServer, models: list[dict[str, Any]]):
    server = start_server(models=models)
    with client_of(server) as client:
        assert [model.id for model in client.models.list()] == ["demo", "script"]
        assert client.models.retrieve("hello").id == "script"
        story = says(client, "demo")
        assert story and story != HELLO
        for name in ("script", "hello", "gpt-4o-mini"):
            assert says(client, name) == HELLO
        assert chat(client, model="hello").model == "script"
        with pytest.raises(openai.NotFoundError) as caught:
            says(client, "another")
        assert caught.value.code == "model_not_found" and caught.value.param == "model"
    status, body = post(server, "/v1/chat/completions", {"messages": STORY, "max_tokens": 16, "temperature": 0})
    assert status == 200 and body["choices"][0]["message"]["content"] == story and body["model"] == "demo"
    tokens = {name: post(server, "/tokenize", {"model": name, "prompt": "Once upon"})[1]["tokens"]
              for name in ("demo", "script")}
    assert tokens["demo"] != tokens["script"]
    assert [one["name"] for one in server.get("/api/tags")["models"]] == ["demo:latest", "script:latest"]
    assert post(server, "/api/show", {"model": "script"})[0] == 200
    answer = post(server, "/api/chat", {"model": "hello:latest", "messages": STORY, "stream": False})[1]
    assert answer["message"]["content"] == HELLO
    assert server.metric('weft_requests_finished_total{class="chat",model="demo"}') == 2
    assert server.metric('weft_requests_finished_total{class="chat",model="script"}') == 5
    with connect(url_of(server)) as socket:
        assert text_of(ask(socket, model="hello")) == HELLO
        assert text_of(ask(socket, model="demo")) != HELLO


def test_a_model_that_fails_to_load_fails_alone(start_server: StartServer, models: list[dict[str, Any]],
                                                tmp_path: Path):
    models[0]["path"] = str(tmp_path / "nowhere")
    server = start_server(models=models)
    failed, served = server.get("/v1/models")["data"]
    assert failed["status"]["value"] == "failed"
    # Only who runs the server is told where its files are.
    assert failed["status"]["reason"] and "nowhere" not in failed["status"]["reason"]
    assert served["status"] == {"value": "loaded"}
    server.wait_for_log("model demo: not loaded: .*nowhere")
    with client_of(server) as client:
        assert says(client, "script") == HELLO
        with pytest.raises(openai.InternalServerError) as caught:
            says(client, "demo")
        assert caught.value.status_code == 503 and caught.value.code == "model_failed"
    status, body = post(server, "/v1/models/load", {"model": "demo"})
    assert status == 503 and "nowhere" in body["error"]["message"]


def test_models_come_and_go_under_traffic_without_a_lost_request(start_server: StartServer,
                                                                 models: list[dict[str, Any]]):
    server = start_server(models=models)
    done = threading.Event()

    def ask_demo() -> int:
        count = 0
        with client_of(server) as client:
            while not done.is_set():
                assert says(client, "demo")
                count += 1
        return count

    def ask_script() -> tuple[int, int]:
        served, refused = 0, 0
        with client_of(server) as client:
            while not done.is_set():
                try:
                    assert says(client, "script") == HELLO
                    served += 1
                except openai.InternalServerError as error:
                    assert error.code in ("model_unloading", "model_not_loaded"), error
                    refused += 1
        return served, refused

    with ThreadPoolExecutor() as pool:
        demo, script = pool.submit(ask_demo), [pool.submit(ask_script) for _ in range(2)]
        try:
            for _ in range(3):
                assert post(server, "/v1/models/unload", {"model": "script"})[0] == 200
                assert states(server)["script"] == "unloaded"
                status, body = post(server, "/v1/models/load", {"model": "hello"})
                assert status == 200 and body["id"] == "script" and body["status"]["value"] == "loaded"
        finally:
            done.set()
        assert demo.result() > 0
        assert sum(one.result()[0] for one in script) > 0


def test_a_model_beyond_those_that_fit_is_loaded_on_demand(start_server: StartServer, models: list[dict[str, Any]]):
    server = start_server(server={"max_loaded_models": 1}, models=models)
    assert states(server) == {"demo": "loaded", "script": "unloaded"}
    with client_of(server) as client:
        assert says(client, "script") == HELLO
        assert states(server) == {"demo": "unloaded", "script": "loaded"}
        assert says(client, "demo")
        assert states(server) == {"demo": "loaded", "script": "unloaded"}


def test_only_who_runs_the_server_loads_and_unloads(start_server: StartServer, models: list[dict[str, Any]],
                                                    tmp_path: Path):
    server = start_server(models=models)
    body = {"model": "script"}
    for header in ("Host: weft", "Origin: http://localhost", "X-Forwarded-For: 192.0.2.1", "X-Real-IP: 192.0.2.1",
                   "Forwarded: for=192.0.2.1"):
        status, answer = post(server, "/v1/models/unload", body, header)
        assert status == 403 and answer["error"]["code"] == "not_an_admin"
    assert post(server, "/v1/models/unload", {"model": "another"})[0] == 404
    assert post(server, "/v1/models/unload", {})[0] == 400
    assert post(server, "/v1/models/unload", {"model": "script", "force": True})[0] == 400
    assert states(server)["script"] == "loaded"

    keys = tmp_path / "keys.toml"
    keys.write_text('[[key]]\nname = "user"\nkey = "sk-user"\n[[key]]\nname = "admin"\nkey = "sk-admin"\nadmin = true\n')
    guarded = start_server(key="sk-user", models=models, auth={"api_key_file": str(keys)})
    for key, status in (("sk-nobody", 401), ("sk-user", 403), ("sk-admin", 200)):
        assert post(guarded, "/v1/models/unload", body, "Authorization: Bearer " + key)[0] == status
    eventually(lambda: states(guarded)["script"] == "unloaded", "the model has gone")

    # A browser sends the password that its user once typed, for whichever page.
    password = "Authorization: Basic " + base64.b64encode(b":sk-admin").decode()
    status, answer = post(guarded, "/v1/models/load", body, password, "Origin: http://evil.example")
    assert status == 403 and answer["error"]["code"] == "origin_not_allowed"
