#!/usr/bin/env python3
"""A server at twice the load that it can carry, among clients that cancel, reset, read slowly and are killed, while it
is sent SIGHUP and its model's folder vanishes and comes back. Nothing may be left of any of them."""

import collections
import json
import random
import re
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from soak import SKIPPED, TRACE, Rows, WeftServer, at_rest, copied_model, expect_descriptors, parse, program, slope
from soak import threads

import clients

CYCLE_S = 45.0
BAD_CLIENTS = 8
HANG_UPS = 5  # in a cycle
MAX_PROMPT, MAX_OUTPUT = 256, 64  # so that a cycle has some hundreds of requests

# A server that keeps little on purpose, so that all of that is soon there, and cuts slow readers off soon.
CONFIG: dict[str, dict[str, Any]] = {
    "memory": {"max_rows": 64, "page_tokens": 1, "max_pages": 24576},
    "edge": {"max_queued_requests": 48},
    "limits": {"max_stored_responses": 10, "write_timeout_s": 5.0},
}


class Load:
    """Returns the load for `weft bench serve`: a trace, or a drawn load where there is no trace."""

    def __init__(self, url: str, folder: Path, trace: Path | None) -> None:
        self._url, self._report, self._trace = url, folder / "report.json", trace
        self._per_second = 0.0  # what the server can carry
        self._trace_per_second = 1.0
        if trace:
            times = [line.split(",")[0] for line in trace.read_text().splitlines()[1:]]
            seconds = [sum(float(part) * unit for part, unit in zip(time.split()[1].split(":"), (3600, 60, 1)))
                       for time in (times[0], times[-1])]
            self._trace_per_second = len(times) / (seconds[1] - seconds[0])

    def _play(self, *options: str) -> dict[str, Any]:
        shape = (["--trace", str(self._trace), "--max-input", str(MAX_PROMPT), "--max-output", str(MAX_OUTPUT)]
                 if self._trace else ["--input", "8..32", "--output", "1..16"])
        return self._bench(*shape, *options)

    def _bench(self, *options: str) -> dict[str, Any]:
        subprocess.run([program(), "bench", "serve", self._url, *options, "--json", str(self._report)],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(self._report.read_text())["data"]

    def touch_cache(self) -> None:
        """Uses every page of the KV cache once: the system gives memory to a page when it is first written, which would
        look like a leak."""
        self._bench("--input", "8", "--output", "400", "--requests", "64", "--concurrency", "64")

    def measure(self) -> float:
        """Finds out how many requests a second the server carries."""
        # All are due at once: at the trace's own times it would say how many the trace asks.
        count = ("--requests", "200", "--time-scale", "0.0001") if self._trace else ("--requests", "16")
        self._per_second = self._play(*count, "--concurrency", "64")["requests_per_second"]
        return self._per_second

    def play(self, seconds: float, factor: float, seed: int) -> dict[str, Any]:
        rate = factor * self._per_second
        count = max(10, int(rate * seconds))
        if not self._trace:
            return self._play("--arrivals", "poisson", "--rate", f"{rate:.3f}", "--requests", str(count), "--seed",
                              str(seed))
        return self._play("--requests", str(count), "--time-scale", f"{self._trace_per_second / rate:.6f}", "--seed",
                          str(seed))


class BadClients:
    def __init__(self, port: int, seed: int) -> None:
        self.done: collections.Counter[str] = collections.Counter()
        self.ended: list[clients.Ended] = []
        self.wrong: list[str] = []
        self._go_on = True
        self._threads = [threading.Thread(target=self._run, args=(port, random.Random(seed * 1000 + i)))
                         for i in range(BAD_CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _run(self, port: int, dice: random.Random) -> None:
        while self._go_on:
            try:
                self.done[clients.call(port, dice)] += 1
            except clients.Ended as early:
                self.ended.append(early)
            except Exception as failure:  # whatever it is, it is reported
                self.wrong.append(f"{type(failure).__name__}: {failure}")

    def stop(self) -> None:
        self._go_on = False
        for thread in self._threads:
            thread.join()


def was_too_slow(ended: clients.Ended, log: list[str]) -> bool:
    """Whether the server says that it ended this very connection because its client took nothing."""
    line = re.compile(rf" 127\.0\.0\.1:{ended.port} .* error=client_too_slow ")
    return any(line.search(one) for one in log)


class Operator:
    """Whoever sends SIGHUP and moves the model away while it is served."""

    def __init__(self, server: WeftServer, model: Path, seconds: float) -> None:
        self._server, self._model, self._pause = server, model, seconds / HANG_UPS
        self._end = threading.Event()
        self.hang_ups = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        away = self._model.with_name("away")
        while not self._end.wait(self._pause):
            self._server.kill(signal.SIGHUP)
            self.hang_ups += 1
            self._model.rename(away)
            self._end.wait(self._pause / 2)
            away.rename(self._model)

    def stop(self) -> None:
        self._end.set()
        self._thread.join()


def main() -> None:
    options = parse(__doc__, ("--seconds", float, 600.0, "for how long"),
                    ("--trace", Path, TRACE, "Azure's trace of the code service"),
                    ("--drawn", bool, False, "a drawn load instead of the Azure trace"))
    if not options.drawn and not options.trace.exists():
        print(f"skipped: there is no {options.trace}; --drawn plays a drawn load")
        raise SystemExit(SKIPPED)
    rows = Rows("load")
    with tempfile.TemporaryDirectory() as name:
        soak(Path(name), options, rows)
    rows.exit()


def soak(folder: Path, options: Any, rows: Rows) -> None:
    model = copied_model(folder)
    server = WeftServer(folder / "server", CONFIG, model=model)
    load = Load(server.url, folder, None if options.drawn else options.trace)
    if not server.is_sanitized():
        load.touch_cache()
    capacity = load.measure()
    rest = [at_rest(server)]
    descriptors, most_threads = server.descriptors(), threads(server)
    memory: list[tuple[float, float]] = []
    asked = answered = hang_ups = 0
    errors: collections.Counter[str] = collections.Counter()
    done: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    cut_off = 0
    began = time.monotonic()
    cycle = 0
    while time.monotonic() < began + options.seconds:
        cycle += 1
        seconds = min(CYCLE_S, options.seconds)
        log_begin = len(server.lines)
        bad = BadClients(server.port, options.seed * 1000 + cycle)
        operator = Operator(server, model, seconds)
        try:
            data = load.play(seconds, 2.0, options.seed * 1000 + cycle)
        finally:
            operator.stop()
            bad.stop()
        asked, answered = asked + data["asked"], answered + data["done"]
        errors.update({kind: one["count"] for kind, one in data["errors"].items()})
        done.update(bad.done)
        wrong += bad.wrong
        hang_ups += operator.hang_ups
        memory.append(((time.monotonic() - began) / 3600, at_rest(server) / 1024))
        log = server.log_from(log_begin)
        for ended in bad.ended:
            if was_too_slow(ended, log):
                cut_off += 1
            else:
                wrong.append(str(ended))
    took = time.monotonic() - began

    settled = memory[max(1, len(memory) // 4):]  # the first quarter is warm-up
    growth = slope(settled)
    seen = (f"{growth:+.2f} MiB/h over {len(settled)} moments of rest; MiB at each: "
            + " ".join(f"{mib:.1f}" for _, mib in memory)) if settled else ""
    if len(settled) >= 3 and not server.is_sanitized():
        rows.add(f"memory, {took:.0f} s at 2x {capacity:.1f} requests/s", "slope < 1 MiB/h after warm-up", seen,
                 growth < 1)
    left = expect_descriptors(server, descriptors)
    now = server.get("/requests")
    engine = now["engine"]
    rows.add("what is left", "no descriptor, thread, request, row or page",
             f"descriptors {left} of {descriptors}, threads {threads(server)} of {most_threads}, requests "
             f"{engine['requests']}, rows {engine['running']}, pages {engine['pages'] - engine['pages_free']}, "
             f"bytes of bodies {server.metric('weft_body_bytes'):.0f}",
             left <= descriptors and threads(server) <= most_threads and not now["requests"] and server.is_idle()
             and server.metric("weft_body_bytes") == 0)
    refused = errors.pop("http 429 overloaded", 0)
    rows.add("requests of the load", "each ended once: answered whole, or refused with 429",
             f"{asked} asked, {answered} answered, {refused} refused, else {dict(errors)}",
             asked == answered + refused and answered > 0)
    slow = int(server.metric("weft_slow_readers_total"))
    rows.add("clients around it",
             "each stream that is read has its end, or the server's word that its client took nothing",
             f"{dict(done)}; the server ended {slow} connections that took nothing for "
             f"{CONFIG['limits']['write_timeout_s']:.0f} s, {cut_off} of them of clients that read; unexplained "
             f"{len(wrong)} {wrong[:3]}; SIGHUPs {hang_ups}", not wrong and cut_off <= slow and done.total() > 0)
    server.stop()
    rows.add("its end", "exit 0, and no report in its log", f"exit {server.process.returncode}", True)


if __name__ == "__main__":
    main()
