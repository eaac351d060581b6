#!/usr/bin/env python3
"""What it costs the server to refuse a request for which it has no room: processor time beside that of GET /live, which
is the least that any answer costs, in turn. One client asks on one connection, one request after the other."""

import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from soak import Rows, WeftServer, parse

from raw_http import RawClient

CONFIG = {"memory": {"max_rows": 1, "max_pages": 1024}, "edge": {"max_queued_requests": 1}}
# They compute the one request that is there.
COMPUTING = ("executor", "scheduler", "detokenizer", "weft-team")
# As large as the requests of overload.py on average.
BODY = {"prompt": list(range(100, 260)), "max_tokens": 48, "stream": True, "ignore_eos": True}


def edge_seconds(server: WeftServer) -> float:
    """Processor time of the threads that do not compute."""
    nanoseconds = 0
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        if not (task / "comm").read_text().startswith(COMPUTING):
            nanoseconds += int((task / "schedstat").read_text().split()[0])
    return nanoseconds / 1e9


def fill(server: WeftServer) -> RawClient:
    """Takes the one place there is, for longer than a round."""
    server.wait_until_idle()
    raw = RawClient(server.port)
    raw.post("/v1/completions", {"prompt": "Once", "max_tokens": 1000, "stream": True, "ignore_eos": True})
    assert raw.read_head().status == 200
    return raw


def cost(server: WeftServer, count: int, status: int, ask: Callable[[], RawClient]) -> float:
    """Microseconds of each request."""
    before = edge_seconds(server)
    for _ in range(count):
        got = ask().read().status
        assert got == status, f"{got} instead of {status}: the place was free again"
    return 1e6 * (edge_seconds(server) - before) / count


def main() -> None:
    options = parse(__doc__, ("--requests", int, 200, "of each kind in a round"), ("--rounds", int, 20, "how many"))
    rows = Rows("refusals")
    refused, least = [], []
    with tempfile.TemporaryDirectory() as name:
        server = WeftServer(Path(name), CONFIG)
        body = json.dumps(BODY).encode()
        for _ in range(options.rounds):
            with fill(server), RawClient(server.port) as raw:
                refused.append(cost(server, options.requests, 429,
                                    lambda: raw.send_request("POST", "/v1/completions", body=body)))
            with fill(server), RawClient(server.port) as raw:
                least.append(cost(server, options.requests, 200, lambda: raw.send_request("GET", "/live")))
        server.stop()
    ratios = sorted(one / other for one, other in zip(refused, least))
    rows.add("a request that is refused for want of room", "<= 2 x GET /live",
             f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} .. {ratios[-1]:.2f}): {statistics.median(refused):.1f} "
             f"of {statistics.median(least):.1f} us", statistics.median(ratios) <= 2)
    rows.exit()


if __name__ == "__main__":
    main()
