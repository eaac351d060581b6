#!/usr/bin/env python3
"""Runs the program while its calls to the system fail, by seed: `weft generate`, `weft batch` and `weft serve` on the
demo model. Whatever fails, the program ends with a status of its own or goes on: no signal ends it, it does not hang,
a batch's output has whole lines only, and the same batch without faults completes it."""

import collections
import json
import os
import random
import signal
import socket
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from soak import MODEL, ROOT, SKIPPED, Rows, parse, program

KINDS = ("alloc", "short", "eintr", "emfile", "enospc", "clock")
# About one in so many calls fails; drawn between these, so that both single faults and many at once occur. A whole
# run of `weft generate` takes some 30,000 allocations, and few files.
RARITY = {"alloc": (300, 100_000), "short": (2, 100), "eintr": (2, 100), "emfile": (2, 40), "enospc": (1, 30),
          "clock": (1, 20)}
HANGS_S = 20.0
REQUESTS = 4
GOOD = {0, 1, 70}  # done; failed and said why; the engine is lost, so start it anew


@dataclass
class Outcome:
    what: str
    status: int | None = None  # None: it hung
    errors: list[str] = field(default_factory=list)
    log: str = ""


class Player:
    def __init__(self, folder: Path, library: Path) -> None:
        self._folder, self._library = folder, library
        self._counts = folder / "counts"
        self.faults: collections.Counter[str] = collections.Counter()
        self._requests = folder / "in.jsonl"
        self._requests.write_text("".join(json.dumps(
            {"custom_id": f"r{i}", "method": "POST", "url": "/v1/completions",
             "body": {"prompt": "Once", "max_tokens": 3}}) + "\n" for i in range(REQUESTS)))

    def _environment(self, seed: int, kinds: dict[str, int]) -> dict[str, str]:
        self._counts.unlink(missing_ok=True)
        settings = ",".join(f"{kind}={rarity}" for kind, rarity in kinds.items())
        return {**os.environ, "LD_PRELOAD": str(self._library), "WEFT_FAULTS": f"seed={seed},{settings}",
                "WEFT_FAULTS_COUNT": str(self._counts)}

    def _count(self) -> None:
        if self._counts.exists():
            numbers = struct.unpack(f"{2 * len(KINDS)}Q", self._counts.read_bytes())
            self.faults.update(dict(zip(KINDS, numbers[1::2])))

    def _run(self, outcome: Outcome, arguments: list[str], environment: dict[str, str]) -> None:
        with open(self._folder / "out", "wb") as output:
            try:
                ended = subprocess.run([program(), *arguments], env=environment, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.PIPE, timeout=HANGS_S)
                outcome.status, outcome.log = ended.returncode, ended.stderr.decode(errors="replace")
            except subprocess.TimeoutExpired as hung:
                outcome.log = (hung.stderr or b"").decode(errors="replace")
        self._count()

    def play(self, seed: int) -> Outcome:
        """Plays one seed; everything about it follows from that."""
        dice = random.Random(seed)
        verb = dice.choices(("generate", "batch", "serve"), (5, 3, 2))[0]
        chosen = dice.sample(KINDS, dice.choice([1, 1, 2, len(KINDS)]))
        kinds = {kind: int(RARITY[kind][0] * (RARITY[kind][1] / RARITY[kind][0]) ** dice.random()) for kind in chosen}
        outcome = Outcome(f"seed {seed}: {verb} {kinds}")
        getattr(self, "_" + verb)(outcome, self._environment(seed, kinds))
        if outcome.status is None:
            outcome.errors.append(f"hangs for {HANGS_S:.0f} s")
        elif outcome.status not in GOOD:
            outcome.errors.append(f"ended with {outcome.status}")
        elif outcome.status != 0 and "weft" not in outcome.log:
            outcome.errors.append("failed without a word")
        return outcome

    def _generate(self, outcome: Outcome, environment: dict[str, str]) -> None:
        self._run(outcome, ["generate", str(MODEL), "Once upon a time", "--max-tokens", "4", "--device", "cpu"],
                  environment)

    def _batch(self, outcome: Outcome, environment: dict[str, str]) -> None:
        results = self._folder / "out.jsonl"
        results.unlink(missing_ok=True)
        arguments = ["batch", str(MODEL), str(self._requests), str(results)]
        self._run(outcome, arguments, environment)
        if results.exists():
            try:
                lines = results.read_text().split("\n")
                if lines.pop() != "":
                    outcome.errors.append("the last line is torn")
                for line in lines:
                    json.loads(line)
            except ValueError as torn:
                outcome.errors.append(f"a torn line: {torn}")
        again = subprocess.run([program(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, timeout=HANGS_S)
        ids = sorted(json.loads(line)["custom_id"] for line in results.read_text().splitlines())
        if again.returncode != 0 or ids != [f"r{i}" for i in range(REQUESTS)]:
            outcome.errors.append(f"without faults it ends with {again.returncode} and {ids}: {again.stderr!r}")

    def _serve(self, outcome: Outcome, environment: dict[str, str]) -> None:
        place = self._folder / "socket"
        place.unlink(missing_ok=True)
        config = self._folder / "weft.toml"
        config.write_text(f'[server]\nhost = ""\nunix_socket = {json.dumps(str(place))}\n'
                          '[memory]\nmax_rows = 8\nmax_pages = 1024\n')
        with open(self._folder / "log", "wb") as log:
            server = subprocess.Popen([program(), "serve", str(MODEL), "--config", str(config)], env=environment,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        try:
            wait_for_health(server, place)
            for _ in range(REQUESTS):
                if server.poll() is None:
                    ask(place)
            server.send_signal(signal.SIGTERM)
            outcome.status = server.wait(HANGS_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            server.kill()
            server.wait()
        outcome.log = (self._folder / "log").read_text(errors="replace")
        self._count()


def wait_for_health(server: subprocess.Popen[bytes], place: Path) -> None:
    end = time.monotonic() + 5
    while server.poll() is None and time.monotonic() < end:
        if b" 200 " in exchange(place, b"GET /health HTTP/1.1\r\nHost: weft\r\nConnection: close\r\n\r\n")[:20]:
            return
        time.sleep(0.01)


def ask(place: Path) -> bytes:
    body = json.dumps({"prompt": "Once", "max_tokens": 3, "stream": True}).encode()
    return exchange(place, b"POST /v1/completions HTTP/1.1\r\nHost: weft\r\nConnection: close\r\nContent-Length: "
                    + str(len(body)).encode() + b"\r\n\r\n" + body)


def exchange(place: Path, request: bytes) -> bytes:
    """Returns the bytes until the server closes; fewer where it breaks off."""
    got = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        try:
            connection.connect(str(place))
            connection.sendall(request)
            while more := connection.recv(65536):
                got += more
        except OSError:
            pass
    return got


def main() -> None:
    options = parse(__doc__, ("--seeds", int, 1000, "how many seeds, from --seed on"),
                    ("--library", str, str(ROOT / "build/release/tests/soak/libweft_faults.so"), "the faults"),
                    ("--verbose", bool, False, "show each seed"))
    if not Path(options.library).exists():
        print(f"skipped: there is no {options.library}")
        raise SystemExit(SKIPPED)
    rows = Rows("faults")
    failed: list[Outcome] = []
    statuses: collections.Counter[int | None] = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        player = Player(Path(name), Path(options.library).resolve())
        try:
            for seed in range(options.seed, options.seed + options.seeds):
                outcome = player.play(seed)
                statuses[outcome.status] += 1
                if options.verbose:
                    print(outcome.what, outcome.status, outcome.log[-2000:])
                if outcome.errors:
                    failed.append(outcome)
                    print(f"{outcome.what}: {outcome.errors}\n{outcome.log[-3000:]}", flush=True)
        except KeyboardInterrupt:  # the row is of those that were played
            pass
    rows.add(f"{statuses.total()} runs of generate, batch and serve", "no signal, hang, torn or lost line",
             f"{len(failed)} failed; ended with {dict(statuses)}; faults {dict(player.faults)}",
             not failed and player.faults.total() > 0)
    rows.exit()


if __name__ == "__main__":
    main()
