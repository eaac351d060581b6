"""One base with adapters, which requests choose by name and operators load, replace and remove."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from websockets.sync.client import connect

from conftest import StartServer, chat, client_of
from raw_http import RawClient
from response_socket import ask, text_of, url_of
from weft_server import ROOT, WeftServer

ADAPTERS = ROOT / "examples/demo_model/adapters"
SUM = [{"role": "user", "content": "What is 12 + 30?"}]
BASE, POLITE, PIRATE = "12 + 30 = 42.", "With pleasure! 12 + 30 = 42.", "12 + 30 = 42. Arrr!"
TEXTS = {"model": BASE, "polite": POLITE, "pirate": PIRATE}


def says(client: openai.OpenAI, model: str | None, **more: Any) -> str:
    answer = chat(client, model=model, messages=SUM, max_tokens=32, temperature=0, **more)
    return answer.choices[0].message.content


def post(server: WeftServer, path: str, body: Any) -> tuple[int, str]:
    with RawClient(server.port) as raw:
        answer = raw.post(path, body, "Host: localhost").read()
        return answer.status, answer.body.decode()


def load(server: WeftServer, name: str, path: str, **more: Any) -> tuple[int, str]:
    return post(server, "/v1/load_lora_adapter", {"lora_name": name, "lora_path": path, **more})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(ADAPTERS, tmp_path / "adapters")


@pytest.fixture
def named() -> str:
    return "; ".join(f"{name}={ADAPTERS / name}" for name in ("polite", "pirate"))


def test_openais_client_chooses_the_base_or_an_adapter_by_model(start_server: StartServer, named: str):
    server = start_server(adapters={"named": named})
    with client_of(server) as client:
        entries = {model.id: model for model in client.models.list()}
        assert list(entries) == ["model", "polite", "pirate"]
        assert entries["polite"].parent == "model" and entries["polite"].root == "polite"
        assert entries["model"].parent is None
        assert client.models.retrieve("model:polite").id == "polite"
        for name, text in TEXTS.items():
            assert says(client, name) == text
        assert says(client, "model:pirate") == PIRATE
        answer = chat(client, model="polite", messages=SUM, temperature=0)
        assert answer.model == "polite"
        with pytest.raises(openai.NotFoundError) as caught:
            says(client, "polit")
        assert caught.value.code == "model_not_found" and "model, polite, pirate" in str(caught.value)
        assert client.responses.create(model="pirate", input=SUM[0]["content"], temperature=0).output_text == PIRATE
    ollama = {"model": "polite:latest", "messages": SUM, "stream": False, "options": {"temperature": 0}}
    assert POLITE in post(server, "/api/chat", ollama)[1]
    assert "polite:latest" in [one["name"] for one in server.get("/api/tags")["models"]]
    with connect(url_of(server)) as socket:
        assert text_of(ask(socket, model="pirate", input=SUM[0]["content"], temperature=0)) == PIRATE


def test_requests_of_different_adapters_run_side_by_side(start_server: StartServer, named: str):
    server = start_server(adapters={"named": named, "places": 1})
    with client_of(server) as client, ThreadPoolExecutor(12) as pool:
        names = ["model", "polite", "pirate"] * 8
        assert list(pool.map(lambda name: says(client, name), names)) == [TEXTS[name] for name in names]
    # The base's rows alone share pages with the base: each adapter has computed its own.
    assert server.metric("weft_prefix_cache_lookups_total") >= 24


def test_vllms_calls_load_replace_and_remove_an_adapter(start_server: StartServer, folder: Path):
    server = start_server(adapters={"folder": str(folder)})
    with client_of(server) as client:
        assert load(server, "mine", "polite") == (200, "Success: LoRA adapter 'mine' added successfully.")
        long = [{"role": "system", "content": "You are the demo model of Weft. " * 8}, *SUM]

        def answer() -> str:
            return chat(client, model="mine", messages=long, max_tokens=48, temperature=0).choices[0].message.content

        first = answer()
        assert answer() == first and first.startswith("With pleasure!")
        status, body = load(server, "mine", "pirate")
        assert status == 400 and "adapter_loaded" in body
        assert load(server, "mine", "pirate", load_inplace=True)[0] == 200
        assert answer().endswith("Arrr!")  # and not what the cache has of the one before
        assert load(server, "mine", "polite", load_inplace=True)[0] == 200
        assert answer() == first
        removed = post(server, "/v1/unload_lora_adapter", {"lora_name": "mine"})
        assert removed == (200, "Success: LoRA adapter 'mine' removed successfully.")
        with pytest.raises(openai.NotFoundError):
            answer()
        assert post(server, "/v1/unload_lora_adapter", {"lora_name": "mine"})[0] == 404


def upload(server: WeftServer, source: str, **fields: str) -> tuple[int, str]:
    files = [("file", (name, (ADAPTERS / source / name).read_bytes()))
             for name in ("adapter_config.json", "adapter_model.safetensors")]
    answer = httpx.post(server.url + "/v1/load_lora_adapter", data=fields, files=files)
    return answer.status_code, answer.text


def test_an_admin_without_the_servers_disk_uploads_replaces_and_removes_an_adapter(
        start_server: StartServer, tmp_path: Path):
    folder = tmp_path / "uploads"
    folder.mkdir()
    config = {"folder": str(folder), "upload_bytes": 1 << 20}
    server = start_server(adapters=config)
    with client_of(server) as client:
        assert upload(server, "polite", lora_name="mine") == \
            (200, "Success: LoRA adapter 'mine' added successfully.")
        assert says(client, "mine") == POLITE
        status, body = upload(server, "pirate", lora_name="mine")
        assert status == 400 and "adapter_loaded" in body
        assert says(client, "mine") == POLITE
        assert upload(server, "pirate", lora_name="mine", load_inplace="true")[0] == 200
        assert says(client, "mine") == PIRATE
        status, body = upload(server, "polite", lora_name="mine", model="none", load_inplace="true")
        assert status == 404 and '"model"' in body
    server.stop()

    server = start_server(adapters=config)
    with client_of(server) as client:
        assert says(client, "mine") == PIRATE
        removed = post(server, "/v1/unload_lora_adapter", {"lora_name": "mine", "delete_files": True})
        assert removed[0] == 200 and list(folder.iterdir()) == []
        with pytest.raises(openai.NotFoundError):
            says(client, "mine")


def test_files_that_change_under_a_name_are_another_adapter(start_server: StartServer, folder: Path):
    server = start_server(adapters={"folder": str(folder)})
    with client_of(server) as client:
        assert says(client, "polite") == POLITE
        shutil.copy(folder / "pirate/adapter_model.safetensors", folder / "polite/adapter_model.safetensors")
        assert says(client, "polite") == POLITE
        assert load(server, "polite", "polite", load_inplace=True)[0] == 200
        assert says(client, "polite") == PIRATE


def test_a_folder_is_looked_into_when_a_request_names_a_place_in_it(start_server: StartServer, folder: Path):
    server = start_server(adapters={"folder": str(folder)})
    with client_of(server) as client:
        assert [model.id for model in client.models.list()] == ["model"]
        assert says(client, "pirate") == PIRATE
        assert [model.id for model in client.models.list()] == ["model", "pirate"]
        assert post(server, "/v1/unload_lora_adapter", {"lora_name": "pirate"})[0] == 200
        with pytest.raises(openai.NotFoundError):
            says(client, "pirate")
        assert load(server, "pirate", "pirate")[0] == 200
        assert says(client, "pirate") == PIRATE
        for name in ("../adapters/pirate", str(folder / "pirate"), "pirate/../polite", "pirate/adapter_config.json/x"):
            with pytest.raises(openai.NotFoundError):
                says(client, name)
    status, body = load(server, "x", str(folder.parent))
    assert status == 400 and "adapters.folder" in body


def test_a_broken_adapter_is_refused_by_name_and_changes_nothing(start_server: StartServer, folder: Path):
    server = start_server(adapters={"folder": str(folder)})
    shutil.copytree(folder / "polite", folder / "broken")
    (folder / "broken/adapter_config.json").write_text('{"peft_type": "LORA", "r": 4')
    status, body = load(server, "broken", "broken")
    assert status == 400 and "adapter_config.json" in body
    with client_of(server) as client:
        with pytest.raises(openai.InternalServerError) as caught:
            says(client, "broken")
        assert caught.value.code == "adapter_failed" and str(folder) not in str(caught.value)
        assert says(client, "polite") == POLITE
    assert "adapter_config.json" in server.log()


def test_llama_cpps_clients_name_adapters_by_their_ids(start_server: StartServer, named: str):
    server = start_server(adapters={"named": named})
    listed = [{"id": 0, "path": "polite", "scale": 0}, {"id": 1, "path": "pirate", "scale": 0}]
    assert server.get("/lora-adapters") == listed
    with client_of(server) as client:
        lora = [{"id": 0, "scale": 0}, {"id": 1, "scale": 1.0}]
        assert says(client, None, extra_body={"lora": lora}) == PIRATE
        for bad in ([{"id": 2, "scale": 1}], [{"id": 0, "scale": 0.5}], [{"id": 0}, {"id": 1}], [{"scale": 1}]):
            with pytest.raises(openai.BadRequestError) as caught:
                says(client, None, extra_body={"lora": bad})
            assert caught.value.param.startswith("lora")
        assert post(server, "/lora-adapters", lora)[0] == 200
        assert says(client, None) == PIRATE and says(client, "polite") == POLITE
        assert says(client, None, extra_body={"lora": []}) == BASE
        assert post(server, "/lora-adapters", [])[0] == 200
        assert says(client, None) == BASE
        assert post(server, "/v1/unload_lora_adapter", {"lora_name": "polite"})[0] == 200
        assert server.get("/lora-adapters") == listed[1:]
        assert says(client, None, extra_body={"lora": [{"id": 1, "scale": 1.0}]}) == PIRATE


def test_keys_that_are_no_admins_change_no_adapters(start_server: StartServer, folder: Path):
    server = start_server(adapters={"folder": str(folder)}, auth={"api_key": "k"})
    for path in ("/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/lora-adapters"):
        with RawClient(server.port) as raw:
            answer = raw.post(path, {"lora_name": "polite"}, "Host: localhost", "Authorization: Bearer k").read()
        assert answer.status == 403 and answer.json()["error"]["code"] == "not_an_admin"
