"""The server as curl sees it."""

import json
import subprocess
from pathlib import Path

import pytest

from curl import curl
from prompts import ENDLESS_BODY
from waiting import eventually


def test_a_stream_arrives_while_it_is_made(server):
    body = json.dumps({"prompt": "Once", "stream": True, **ENDLESS_BODY})
    with subprocess.Popen(["curl", "-sN", f"{server.url}/v1/completions", "-d", body], stdout=subprocess.PIPE) as running:
        assert running.stdout.readline().startswith(b"data: {")
        assert len(server.running()) == 1, "the first event is here, and the rest is still to come"
        running.terminate()
    eventually(lambda: not server.running(), "the request is gone with its client")


def test_a_whole_stream_is_events_with_done_at_the_end(server):
    body = json.dumps({"prompt": "Once", "stream": True, "max_tokens": 5, "ignore_eos": True})
    events = curl("-N", f"{server.url}/v1/completions", "-d", body).stdout.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    pieces = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
    assert pieces[-1]["choices"][0]["finish_reason"] == "length"


def test_a_body_of_two_megabytes_is_announced_and_taken(server, tmp_path: Path):
    body = tmp_path / "body"
    body.write_text(json.dumps({"prompt": " word" * 400_000}))
    done = curl("-v", f"{server.url}/tokenize", "-H", "Expect: 100-continue", "--data-binary", f"@{body}")
    assert b"< HTTP/1.1 100 Continue" in done.stderr
    assert json.loads(done.stdout)["count"] > 100_000


def test_a_body_over_the_limit_is_refused_before_it_is_sent(server, tmp_path: Path):
    body = tmp_path / "body"
    body.write_bytes(b"x" * ((8 << 20) + 1))
    done = curl("-v", f"{server.url}/tokenize", "-H", "Expect: 100-continue", "--data-binary", f"@{body}",
                "-w", "%{http_code} %{size_upload}")
    assert done.stdout.endswith(b"413 0")


@pytest.mark.parametrize("option", ["--http1.0", "--http1.1", "--http2"])
def test_curl_is_answered_in_each_version_that_it_asks_for(server, option: str):
    assert json.loads(curl(option, f"{server.url}/live").stdout) == {"status": "ok"}


def test_a_body_in_chunks_is_taken(server):
    done = curl(f"{server.url}/tokenize", "-H", "Transfer-Encoding: chunked", "-d", "@-", input=b'{"prompt":"One"}')
    assert json.loads(done.stdout)["count"] >= 1


def test_head_has_no_body(server):
    assert curl("--head", f"{server.url}/v1/models").stdout.startswith(b"HTTP/1.1 200")
