"""A checkpoint without tokenizer files, served to clients that send and want token ids."""

import json
import shutil
from pathlib import Path

import openai
import pytest

from conftest import StartServer, client_of
from prompts import MODEL
from raw_http import RawClient
from weft_server import MODEL as DEMO_MODEL
from weft_server import WeftServer

TOKENIZER_FILES = ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"]


@pytest.fixture
def bare(tmp_path: Path, start_server: StartServer) -> WeftServer:
    folder = tmp_path / "bare"
    shutil.copytree(DEMO_MODEL, folder)
    for name in TOKENIZER_FILES:
        (folder / name).unlink(missing_ok=True)
    return start_server(model=folder)


def ids_of(server: WeftServer, text: str) -> list[int]:
    with RawClient(server.port) as raw:
        return raw.post("/tokenize", {"prompt": text}).read().json()["tokens"]


def test_ids_go_in_and_come_out(server: WeftServer, bare: WeftServer):
    prompt = ids_of(server, "Once upon a time")
    asked = {"model": MODEL, "prompt": prompt, "max_tokens": 8, "temperature": 0,
             "extra_body": {"return_token_ids": True, "ignore_eos": True}}
    with client_of(server) as usual, client_of(bare) as client:
        wanted = usual.completions.create(**asked).choices[0]
        got = client.completions.create(**{**asked, "model": "bare", "logprobs": 0}).choices[0]
        assert (got.prompt_token_ids, got.token_ids) == (prompt, wanted.token_ids)
        assert len(got.token_ids) == 8 and got.text == ""
        assert got.logprobs.tokens == [f"token_id:{token}" for token in got.token_ids]

        stream = list(client.completions.create(**{**asked, "model": "bare", "stream": True}))
        assert stream[0].choices[0].prompt_token_ids == prompt
        assert [token for chunk in stream for token in chunk.choices[0].token_ids] == wanted.token_ids

        both = client.completions.create(**{**asked, "model": "bare", "prompt": [prompt, prompt[:2]]}).choices
        assert [one.prompt_token_ids for one in both] == [prompt, prompt[:2]]
        assert both[0].token_ids == wanted.token_ids

        vectors = [each.embeddings.create(model=name, input=[prompt]).data[0].embedding
                   for each, name in ((usual, MODEL), (client, "bare"))]
        assert vectors[0] == pytest.approx(vectors[1])


def test_what_needs_text_says_that_there_is_no_tokenizer(bare: WeftServer):
    with client_of(bare) as client:
        for ask in (lambda: client.completions.create(model="bare", prompt="Once", max_tokens=1),
                    lambda: client.completions.create(model="bare", prompt=[5], max_tokens=1, stop="x"),
                    lambda: client.completions.create(model="bare", prompt=[5], max_tokens=1, echo=True),
                    lambda: client.completions.create(model="bare", prompt=[5], max_tokens=1,
                                                      extra_body={"guided_regex": "a"}),
                    lambda: client.embeddings.create(model="bare", input="Once"),
                    lambda: client.chat.completions.create(model="bare", messages=[{"role": "user", "content": "a"}])):
            with pytest.raises(openai.BadRequestError) as caught:
                ask()
            assert "the model has no tokenizer" in json.dumps(caught.value.body), caught.value.body
    assert "has no tokenizer files" in bare.log()
