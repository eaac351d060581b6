"""Fixtures: servers, which are asked after each test whether anything is left of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from prompts import MODEL, QUESTION
from raw_http import RawClient
from script_model import write_script_model
from waiting import PATIENCE_S
from weft_server import MODEL as DEMO_MODEL
from weft_server import WeftServer

# Fixtures for what a browser shows.
pytest_plugins = ["browser_page"]

# The exit status that tells ctest that nothing could be run, so that it says so (SKIP_RETURN_CODE).
ALL_SKIPPED = 77

StartServer = Callable[..., WeftServer]


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeftServer]:
    server = WeftServer(tmp_path_factory.mktemp("server"), {})
    yield server
    server.stop()


@pytest.fixture
def server(shared_server: WeftServer) -> Iterator[WeftServer]:
    """One server for all tests, which leave nothing behind in it."""
    yield shared_server
    assert shared_server.process.poll() is None, shared_server.log()
    shared_server.wait_until_idle()
    shared_server.expect_clean_log()


@pytest.fixture(scope="session")
def script_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeftServer]:
    """One server of a model that says given texts (script_model.py): with tools it calls two of them, thinking first."""
    model = write_script_model(tmp_path_factory.mktemp("script") / MODEL)
    # It goes on behind its own tokens alone, and its tokenizer spells in others what a schema forces.
    server = WeftServer(tmp_path_factory.mktemp("server"), {"scheduling": {"jump_ahead": False}}, model=model)
    yield server
    server.wait_until_idle()
    server.stop()
    server.expect_clean_log()


@pytest.fixture
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """start_server(table={key: value}, models=[{key: value}]): one of its own. A test that has not stopped it finds it idle at the end.

    `key` is shown where it asks for one that the configuration itself does not have; `model` is served instead of the
    demo model."""
    servers: list[WeftServer] = []

    def start(key: str = "", model: Path = DEMO_MODEL, **config: Any) -> WeftServer:
        servers.append(WeftServer(tmp_path_factory.mktemp("server"), config, key, model))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            try:
                server.wait_until_idle()
            finally:
                server.stop()
        server.expect_clean_log()


@pytest.fixture
def client(server: WeftServer) -> Iterator[openai.OpenAI]:
    with client_of(server) as made:
        yield made


@pytest.fixture
def raw(server: WeftServer) -> Iterator[RawClient]:
    with RawClient(server.port) as made:
        yield made


def client_of(server: WeftServer, **options: Any) -> openai.OpenAI:
    """OpenAI's client, without the retries that would hide what the tests want to see fail."""
    return openai.OpenAI(**{"base_url": server.url + "/v1", "api_key": "none", "max_retries": 0,
                            "timeout": PATIENCE_S, **options})


def chat(client: openai.OpenAI, **options: Any) -> Any:
    """A few tokens, unless more are asked for."""
    return client.chat.completions.create(**{"model": MODEL, "messages": QUESTION, "max_tokens": 4, **options})


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reports = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if exitstatus == 0 and reports.get("skipped") and not reports.get("passed"):
        session.exitstatus = ALL_SKIPPED
