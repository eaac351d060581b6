"""How the server ends when its clients do not."""

import json
import signal

from conftest import StartServer
from prompts import ENDLESS_BODY
from raw_http import RawClient


def test_what_does_not_end_in_time_is_cancelled(start_server: StartServer):
    server = start_server(server={"drain_timeout_s": 0.2})
    with RawClient(server.port) as raw:
        raw.post("/v1/completions", {"prompt": "Once", "stream": True, **ENDLESS_BODY})
        assert raw.read_head().status == 200
        server.kill(signal.SIGTERM)
        body = b"".join(raw.chunks())
    last = json.loads(body.split(b"\n\n")[-2].removeprefix(b"data: "))
    assert last["error"]["code"] == "stopping"
    assert server.wait() == 0
