"""A server that wants a key."""

import openai
import pytest

from conftest import StartServer, client_of
from prompts import MODEL, QUESTION
from raw_http import RawClient

KEY = "sk-the-right-one"


@pytest.fixture
def guarded(start_server: StartServer):
    return start_server(auth={"api_key": KEY})


def test_only_the_right_key_opens(guarded):
    with client_of(guarded, api_key=KEY) as client:
        client.chat.completions.create(model=MODEL, messages=QUESTION, max_tokens=1)
    for wrong in ("sk-the-right-on", KEY + "e", "sk-another"):
        with client_of(guarded, api_key=wrong) as client, pytest.raises(openai.AuthenticationError) as caught:
            client.chat.completions.create(model=MODEL, messages=QUESTION, max_tokens=1)
        assert caught.value.code == "invalid_api_key"
        assert KEY not in str(caught.value.body)


def test_without_a_key_all_but_the_probes_is_closed(guarded):
    paths = {"/health": 200, "/live": 200, "/v1/models": 401, "/requests": 401, "/metrics": 401, "/version": 401,
             "/": 401}
    with RawClient(guarded.port) as raw:
        answers = {path: raw.send_request("GET", path).read() for path in paths}
    assert {path: answer.status for path, answer in answers.items()} == paths
    assert answers["/v1/models"].headers["www-authenticate"] == "Bearer"
    assert KEY not in guarded.log()
