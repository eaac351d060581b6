"""The process seen from outside: its sockets, its memory. The numbers refer to docs/bad-inputs.md."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import StartServer
from raw_http import RawClient
from raw_websocket import PATH, UPGRADE, key_header
from waiting import eventually
from weft_server import WeftServer

LISTEN = "0A"


def listening(pid: int) -> list[str]:
    """Addresses that the process listens at, as the kernel writes them."""
    own = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile, so it is no listener
            own.add(entry.readlink().name)
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTEN and f"socket:[{fields[9]}]" in own:
                found.append(fields[1])
    return found


def test_x5_it_listens_at_the_loopback_address_alone(server: WeftServer):
    assert listening(server.process.pid) == [f"0100007F:{server.port:04X}"]


@pytest.mark.parametrize("method, path", [("POST", "/slots/0?action=restore"), ("POST", "/reset_prefix_cache"),
                                          ("POST", "/sleep"), ("POST", "/models/load")])
def test_x1_there_is_nothing_that_saves_restores_or_loads(raw: RawClient, method: str, path: str):
    answer = raw.send_request(method, path, "Content-Length: 2").send(b"{}").read()
    assert (answer.status, answer.error()["code"]) == (404, "not_found")


def test_x2_a_conversation_that_goes_on_is_as_if_it_were_asked_at_once(raw: RawClient):
    plain = {"max_output_tokens": 40, "temperature": 0}
    first = raw.post("/v1/responses", {"input": "What is Weft?", **plain}).read().json()
    said = first["output"][0]["content"][0]["text"]
    for _ in range(2):
        second = raw.post("/v1/responses", {"input": "And 2 + 3?", "previous_response_id": first["id"], **plain}).read()
        whole = raw.post("/v1/responses", {"input": [
            {"role": "user", "content": "What is Weft?"}, {"role": "assistant", "content": said},
            {"role": "user", "content": "And 2 + 3?"}], **plain}).read()
        assert second.json()["output"][0]["content"] == whole.json()["output"][0]["content"]
        usages = [answer.json()["usage"] for answer in (second, whole)]
        for usage in usages:
            del usage["input_tokens_details"]  # what the cache had of it
        assert usages[0] == usages[1]


def test_x4_memory_does_not_grow_with_requests(start_server: StartServer, monkeypatch: pytest.MonkeyPatch):
    # Otherwise a sanitizer keeps most of what is freed.
    monkeypatch.setenv("ASAN_OPTIONS", "quarantine_size_mb=0:thread_local_quarantine_size_kb=0")
    server = start_server(limits={"max_stored_responses": 10})

    def ask(number: int) -> int:
        with RawClient(server.port) as raw:
            if number % 10 == 0:
                return raw.send_request("GET", PATH, *UPGRADE, key_header()).read_head().status
            path, body = (("/v1/completions", {"prompt": f"Number {number}"}), ("/v1/responses", {"input": f"Number {number}"}),
                          ("/tokenize", {"prompt": "word " * 1000}))[number % 3]
            return raw.post(path, {**body, **({"stream": number % 2 == 0} if path != "/tokenize" else {}),
                                   **({"max_tokens": 2} if "completions" in path else
                                      {"max_output_tokens": 2} if "responses" in path else {})}).read().status

    def ask_many(count: int) -> int:
        with ThreadPoolExecutor(8) as clients:
            assert set(clients.map(ask, range(count))) == {200, 101}
        server.wait_until_idle()
        return server.memory()

    before = ask_many(450)  # what loading gave back is taken again by the first requests
    # Other servers lost megabytes for each request; the allocators' own slack is some MiB for all requests together.
    assert ask_many(300) - before < 300 * 32


@pytest.mark.parametrize("path, field", [("/v1/completions", "prompt"), ("/v1/responses", "input")])
def test_t5_prompts_that_cannot_fit_cost_what_receiving_them_does(start_server: StartServer, path: str, field: str,
                                                                  monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ASAN_OPTIONS", "quarantine_size_mb=0:thread_local_quarantine_size_kb=0")
    server = start_server()
    largest = (8 << 20) - 100  # bytes of a body

    def refuse(text: str, *others: str) -> None:
        with RawClient(server.port) as raw:
            error = raw.post(path, {field: text}).read().error()
        assert error["code"] in ("context_length_exceeded", *others)
        assert error["code"] in others or "1024" in error["message"]

    refuse("word " * 10_000)
    server.wait_until_idle()
    before, most_before = server.memory(), server.most_memory()
    for _ in range(4):
        refuse("word " * (largest // 5))
    server.wait_until_idle()
    # The body, the text in it, and the request's; tokens of it would be another 200 MB.
    assert server.most_memory() - most_before < 100 << 10
    with ThreadPoolExecutor(4) as clients:
        list(clients.map(lambda text: refuse(text, "overloaded"), ["word " * (largest // 5)] * 20))
    eventually(lambda: server.memory() < 1.3 * before, "what they took is given back")
