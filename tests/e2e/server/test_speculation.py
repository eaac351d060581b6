"""A server guesses by a draft model, and says the same as one that guesses nothing."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conftest import StartServer, chat, client_of
from waiting import PATIENCE_S
from weft_server import MODEL, program

STORY = [{"role": "user", "content": "Tell me a story of a weaver who had a loom of seven colours, and of her cat."}]


@pytest.fixture(scope="module")
def shallow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another model with the demo model's vocabulary: its first two layers."""
    folder = tmp_path_factory.mktemp("shallow")
    config = json.loads((MODEL / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 2}))
    for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).symlink_to(MODEL / name)
    return folder


def tell(server: Any, **options: Any) -> Any:
    with client_of(server) as client:
        return chat(client, messages=STORY, max_tokens=120,
                    **{"seed": 5, "temperature": 0, "extra_body": {"ignore_eos": True}, **options})


def guesses_of(answer: Any) -> tuple[int, int]:
    """The right and the wrong guesses of an answer, whose usage says nothing of them where there were none."""
    details = answer.usage.completion_tokens_details
    return (details.accepted_prediction_tokens, details.rejected_prediction_tokens) if details else (0, 0)


def test_the_text_is_the_same_with_a_draft_model_and_without(start_server: StartServer, shallow: Path):
    plain = start_server()
    wanted = {temperature: tell(plain, temperature=temperature) for temperature in (0, 0.9)}
    for draft in (MODEL, shallow):
        # Guesses are made however slow the machine is.
        server = start_server(speculation={"model": str(draft)}, scheduling={"target_inter_token_ms": 60000})
        told = [(0, tell(server))]
        right, wrong = guesses_of(told[0][1])
        assert right + wrong > 0
        assert draft != MODEL or wrong == 0
        # Side by side, so that one step drafts for several.
        with ThreadPoolExecutor(4) as threads:
            told += threads.map(lambda temperature: (temperature, tell(server, temperature=temperature)),
                                [0, 0.9, 0, 0.9])
        for temperature, answer in told:
            assert answer.choices[0].message.content == wanted[temperature].choices[0].message.content
            assert answer.usage.completion_tokens == 120
        accepted, rejected = (sum(counts) for counts in zip(*(guesses_of(answer) for _, answer in told)))
        assert server.metric('weft_speculation_guessed_tokens_total{drafter="model"}') >= accepted + rejected
        assert server.metric('weft_speculation_accepted_tokens_total{drafter="model"}') == accepted
        assert server.metric('weft_speculation_guessed_tokens_total{drafter="suffix"}') == 0


def test_a_request_may_do_without(start_server: StartServer):
    server = start_server(speculation={"model": str(MODEL)})
    answer = tell(server, extra_body={"ignore_eos": True, "speculation": {"kind": "off"}})
    assert answer.usage.completion_tokens == 120
    assert server.metric('weft_speculation_guessed_tokens_total{drafter="model"}') == 0


@pytest.mark.parametrize(("options", "says"), [
    (["--speculation", "/no/such/draft"], "speculation.model: /no/such/draft"),
    (["--speculation", str(MODEL), "--partition", "cpu, cpu"], "speculation.model: a draft model is beside a whole model"),
])
def test_a_draft_model_that_cannot_be_used_is_named(options: list[str], says: str):
    outcome = subprocess.run([program(), "serve", str(MODEL), "--port", "0", "--max-context", "256", *options],
                             capture_output=True, text=True, timeout=PATIENCE_S)
    assert outcome.returncode != 0
    assert says in outcome.stderr
