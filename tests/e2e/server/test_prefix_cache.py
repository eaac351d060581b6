"""A server does not compute cached prompts again, for clients that may share them."""

import json
from pathlib import Path
from typing import Any

import openai
import pytest
from websockets.sync.client import connect

from conftest import StartServer, chat, client_of
from response_socket import ask, url_of
from waiting import PATIENCE_S
from weft_server import WeftServer

FIRST = [{"role": "user", "content": "Tell me a story of a weaver who had a loom of seven colours, and of her cat."}]
PAGE = 16  # tokens
DEMO_KV_BYTES = 8 * 2 * 2 * 32 * 4  # of a token: layers, keys and values, KV heads, their size, float32


@pytest.fixture
def fresh(start_server: StartServer) -> WeftServer:
    return start_server()


def cached(answer: Any) -> int:
    return answer.usage.prompt_tokens_details.cached_tokens


def computed(server: WeftServer) -> float:
    return server.metric("weft_prompt_tokens_total")


def test_a_second_turn_begins_where_the_first_ended(fresh: WeftServer):
    with client_of(fresh) as client:
        first = chat(client, messages=FIRST, max_tokens=40, temperature=0, extra_body={"ignore_eos": True})
        assert cached(first) == 0
        said = {"role": "assistant", "content": first.choices[0].message.content}
        second = chat(client, messages=[*FIRST, said, {"role": "user", "content": "And then?"}])
        assert cached(second) >= first.usage.prompt_tokens - PAGE
        again = chat(client, messages=[*FIRST, said, {"role": "user", "content": "And then?"}], temperature=0)
        assert again.usage.prompt_tokens > cached(again) >= again.usage.prompt_tokens - PAGE
    assert fresh.metric("weft_prefix_cache_hits_total") == 2
    assert fresh.metric("weft_prefix_cache_lookups_total") == 3
    assert fresh.metric("weft_prefix_cache_hit_tokens_total") == cached(second) + cached(again)
    pages = fresh.metric("weft_prefix_cache_pages")
    assert pages > 0
    assert fresh.metric("weft_prefix_cache_bytes") == pages * PAGE * DEMO_KV_BYTES


def test_the_same_text_comes_out_with_what_is_there_and_without(start_server: StartServer):
    texts = set()
    for enabled in (True, False):
        server = start_server(cache={"enabled": enabled})
        with client_of(server) as client:
            for _ in range(3):
                answer = chat(client, messages=FIRST, max_tokens=30, temperature=0)
                texts.add(answer.choices[0].message.content)
            assert (cached(answer) > 0) == enabled
    assert len(texts) == 1


def test_a_stream_tells_what_was_cached(fresh: WeftServer):
    with client_of(fresh) as client:
        for _ in range(2):
            *_, last = chat(client, messages=FIRST, stream=True, stream_options={"include_usage": True})
        assert last.usage.prompt_tokens_details.cached_tokens > 0


def test_another_salt_finds_nothing(fresh: WeftServer):
    with client_of(fresh) as client:
        salted = [cached(chat(client, messages=FIRST, extra_body={"cache_salt": salt})) for salt in "aab"]
        assert salted[0] == 0 and salted[1] > 0 and salted[2] == 0
        assert cached(chat(client, messages=FIRST)) == 0
        for salt in ("", "s" * 257, 5):
            with pytest.raises(openai.BadRequestError) as caught:
                chat(client, extra_body={"cache_salt": salt})
            assert caught.value.param == "cache_salt"


@pytest.mark.parametrize("share", ["key", "all"])
def test_keys_share_what_was_computed_if_the_configuration_says_so(start_server: StartServer, tmp_path: Path, share: str):
    """The time to the first token of the second request depends on the tokens that it must compute."""
    keys = {"ann": "sk-ann-for-the-tests", "bob": "sk-bob-for-the-tests"}
    file = tmp_path / "keys.toml"
    file.write_text("".join(f'[[key]]\nname = "{name}"\nkey = "{key}"\n' for name, key in keys.items()))
    server = start_server(key=keys["ann"], auth={"api_key_file": str(file)}, cache={"share": share})
    with client_of(server, api_key=keys["ann"]) as ann, client_of(server, api_key=keys["bob"]) as bob:
        chat(ann, messages=FIRST)
        before = computed(server)
        other = chat(bob, messages=FIRST)
        if share == "key":
            assert cached(other) == 0
            assert computed(server) - before == other.usage.prompt_tokens
        else:
            assert computed(server) - before == other.usage.prompt_tokens - cached(other) < PAGE
        assert cached(chat(bob, messages=FIRST)) > 0


def test_a_response_without_generation_is_computed_for_the_one_that_continues_it(fresh: WeftServer):
    with connect(url_of(fresh), open_timeout=PATIENCE_S) as socket:
        warm = ask(socket, input=FIRST[0]["content"], generate=False, store=False)[-1]["response"]
        assert warm["status"] == "completed" and warm["output"] == []
        usage = warm["usage"]
        assert usage["output_tokens"] == 0 and usage["input_tokens"] == computed(fresh) > 0
        follow = ask(socket, input="In short.", previous_response_id=warm["id"], store=False)[-1]["response"]
        assert follow["usage"]["input_tokens_details"]["cached_tokens"] >= usage["input_tokens"] - 2 * PAGE
        # And so does a response that goes on with an answer.
        last = ask(socket, input="More.", previous_response_id=follow["id"], store=False)[-1]["response"]
        assert last["usage"]["input_tokens_details"]["cached_tokens"] >= follow["usage"]["input_tokens"] - 2 * PAGE


def test_prompts_that_come_together_are_computed_once(fresh: WeftServer):
    text = json.dumps(FIRST) * 6
    with client_of(fresh) as client:
        answer = client.completions.create(model="model", prompt=[text] * 8, max_tokens=2)
    each = answer.usage.prompt_tokens // 8
    assert answer.usage.prompt_tokens_details.cached_tokens >= 7 * (each - PAGE)
    assert computed(fresh) < 2 * each


def test_a_restarted_server_finds_in_files_what_the_one_before_has_computed(start_server: StartServer, tmp_path: Path):
    answers = []
    for _ in range(2):
        server = start_server(cache={"folder": str(tmp_path / "pages")})
        with client_of(server) as client:
            answers.append(chat(client, messages=FIRST, max_tokens=20, temperature=0, extra_body={"ignore_eos": True}))
        server.wait_until_idle()
        read = server.metric("weft_file_cache_pages_read_total")
        assert read * PAGE == cached(answers[-1])
        assert server.metric("weft_file_cache_failures_total") == 0
        server.stop()
    first, second = answers
    assert cached(first) == 0
    assert cached(second) >= first.usage.prompt_tokens - PAGE
    assert second.choices[0].message.content == first.choices[0].message.content
    assert (tmp_path / "pages").stat().st_mode & 0o777 == 0o700
