#!/usr/bin/env python3
"""Idle WebSockets, which answer the server's pings and do nothing else: what does each cost the server, how much of it
comes back when they have gone, and what do the next ones cost?"""

import resource
import selectors
import socket
import tempfile
import time
from pathlib import Path

from soak import Rows, WeftServer, at_rest, expect_descriptors, parse

from raw_http import RawClient
from raw_websocket import PING, PONG, RawWebSocket, frame

BAR_KIB = 12.0
# Small blocks that stay hold the pages that they lie in. Without the trim of an idle server all of it would stay.
MOST_KEPT = 0.6
MOST_OF_NEXT = 1.05
OWN_FILES = 64
ENOUGH = 1000  # so that what loading left in the heap does not matter
PINGED_S = 25.0  # longer than limits.ping_interval_s


def answer_pings(sockets: list[socket.socket], seconds: float) -> tuple[int, int]:
    """Answers pings for a while; returns how many came, and how many connections ended."""
    pings = ended = 0
    with selectors.DefaultSelector() as ready:
        for one in sockets:
            ready.register(one, selectors.EVENT_READ)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            for key, _ in ready.select(left):
                got = key.fileobj.recv(4096)  # type: ignore[union-attr]
                if not got:
                    ended += 1
                    ready.unregister(key.fileobj)
                while len(got) >= 2 and got[0] == 0x80 | PING:
                    pings += 1
                    size = got[1]
                    key.fileobj.send(frame(PONG, got[2:2 + size]))  # type: ignore[union-attr]
                    got = got[2 + size:]
    return pings, ended


def main() -> None:
    options = parse(__doc__, ("--count", int, 10_000, "how many"),
                    ("--seconds", float, PINGED_S, "for how long; all are pinged within 20"))
    rows = Rows("idle")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - OWN_FILES
    count = min(options.count, allowed)
    with tempfile.TemporaryDirectory() as name:
        server = WeftServer(Path(name), {"limits": {"max_connections": count + OWN_FILES}})
        open_one(server.port).close()
        before, descriptors = at_rest(server), server.descriptors()
        sockets = [open_one(server.port) for _ in range(count)]
        opened = server.descriptors() - descriptors
        pings, ended = answer_pings(sockets, options.seconds)
        taken = server.memory() - before
        each = taken / count
        rows.add(f"{count} idle WebSockets", f"<= {BAR_KIB:.0f} KiB of the server's memory each",
                 f"{each:.2f} KiB each, {opened} open, {pings} pings answered, {ended} ended",
                 (each <= BAR_KIB or server.is_sanitized()) and opened >= count and ended == 0
                 and count == options.count and (pings >= count or options.seconds < PINGED_S))
        left, kept = close_all(server, sockets, descriptors), at_rest(server) - before
        judged = not server.is_sanitized() and count >= ENOUGH
        rows.add("after they have gone", f"no descriptor left, and at most {MOST_KEPT:.0%} of the memory",
                 f"descriptors {left} of {descriptors}, {kept / 1024:.1f} of {taken / 1024:.1f} MiB kept, "
                 f"{kept / taken:.0%}",
                 left <= descriptors and (kept <= MOST_KEPT * taken or not judged))
        sockets = [open_one(server.port) for _ in range(count)]
        answer_pings(sockets, 1)
        again = server.memory() - before
        rows.add("as many again", "take up what was kept", f"{again / 1024:.1f} MiB, {again / taken:.0%} of the first",
                 again <= MOST_OF_NEXT * taken or not judged)
        close_all(server, sockets, descriptors)
        server.stop()
    rows.exit()


def close_all(server: WeftServer, sockets: list[socket.socket], descriptors: int) -> int:
    """Returns how many descriptors the server has then; `descriptors` is how many it should."""
    for one in sockets:
        one.close()
    return expect_descriptors(server, descriptors)


def open_one(port: int) -> socket.socket:
    """A WebSocket, of which only the socket is kept."""
    raw = RawClient(port)
    RawWebSocket(raw)
    kept = raw.socket.dup()
    raw.close()
    return kept


if __name__ == "__main__":
    main()
