"""What lm-eval (EleutherAI's evaluation harness) sends and reads, as its `local-completions` and `local-chat-completions`
do: the package itself brings data sets' libraries along, some hundreds of MB."""

import math
from typing import Any

from prompts import MODEL
from raw_http import RawClient


def ask(raw: RawClient, path: str, body: dict[str, Any]) -> Any:
    answer = raw.post(path, body).read()
    assert answer.status == 200, answer.body
    return answer.json()


def loglikelihoods(raw: RawClient, prompts: list[list[int]], contexts: list[int]) -> list[tuple[float, bool]]:
    """Of what follows a context, in each prompt: the sum of its logprobs, and whether each token is the most probable one."""
    answer = ask(raw, "/v1/completions", {"model": MODEL, "prompt": prompts, "temperature": 0, "max_tokens": 1, "logprobs": 1,
                                          "seed": 1234, "echo": True})
    found = []
    for choice, context in zip(sorted(answer["choices"], key=lambda one: one["index"]), contexts, strict=True):
        logprobs = choice["logprobs"]["token_logprobs"][context:-1]
        tops = choice["logprobs"]["top_logprobs"][context:-1]
        found.append((sum(logprobs), all(own == max(top.values()) for own, top in zip(logprobs, tops, strict=True))))
    return found


def tokens_of(raw: RawClient, text: str) -> list[int]:
    return ask(raw, "/tokenize", {"model": MODEL, "prompt": text})["tokens"]


def test_choices_are_ranked_by_their_likelihood(raw):
    context = tokens_of(raw, "Once upon a time")
    greedy = ask(raw, "/v1/completions", {"model": MODEL, "prompt": context, "temperature": 0, "max_tokens": 6})["choices"][0]
    said = tokens_of(raw, "Once upon a time" + greedy["text"])[len(context):]
    other = tokens_of(raw, "Once upon a time zebra xylophone")[len(context):]
    (first, is_greedy), (second, is_other_greedy) = loglikelihoods(raw, [context + said, context + other], [len(context)] * 2)
    assert is_greedy
    assert not is_other_greedy
    assert first > second
    assert math.isfinite(second)


def test_rolling_windows_of_tokens_are_scored(raw):
    """A text's perplexity: each window is one token of context, and the rest of it."""
    tokens = tokens_of(raw, "Once upon a time there was a cat. It was a small cat, and it had a hat.")
    windows = [tokens[i:i + 9] for i in range(0, len(tokens) - 1, 8)]
    together = loglikelihoods(raw, windows, [1] * len(windows))
    assert together == [loglikelihoods(raw, [window], [1])[0] for window in windows]
    assert all(score < 0 for score, _ in together)


def test_texts_are_made_until_a_stop_string(raw):
    def generate(**options: Any) -> list[str]:
        answer = ask(raw, "/v1/completions", {"model": MODEL, "prompt": ["Once upon a time", "One day"], "max_tokens": 24,
                                              "temperature": 0, "seed": 1234, **options})
        return [one["text"] for one in sorted(answer["choices"], key=lambda one: one["index"])]

    plain = generate(stop=[])
    stopped = generate(stop=[" a", "<|endoftext|>"])
    assert [one.split(" a")[0] for one in plain] == stopped


def test_chats_are_made_until_a_stop_string(raw):
    answer = ask(raw, "/v1/chat/completions", {
        "messages": [{"role": "user", "content": "What is 2 + 2?"}], "model": MODEL, "max_tokens": 24,
        "temperature": 0, "stop": ["\n\n", "Question:"], "seed": 1234})
    assert answer["choices"][0]["message"]["content"]
