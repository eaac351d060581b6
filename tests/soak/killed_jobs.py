#!/usr/bin/env python3
"""SIGKILL at random moments of fine-tuning jobs: each goes on from its last state, ends once, and has the result of a job
that nothing disturbed."""

import collections
import os
import random
import signal
import subprocess
import tempfile
import time
import urllib.error
from pathlib import Path

from soak import Rows, WeftServer, parse, program

from tuning_jobs import (OVER, call, config_of, create, job_of, mistakes_in, saved_step, undisturbed, upload,
                         wait_until_over)

POLL_S = 0.02
# The part of the kills that hit a server before it serves.
WHILE_STARTING = 0.2


class Killed:
    """A folder of jobs whose server is killed again and again."""

    def __init__(self, place: Path, dice: random.Random, job_s: float) -> None:
        self.place = place
        self.training = place / "training"
        self.dice = dice
        self.job_s = job_s
        self.kills: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self._starts = 0

    def _next_place(self) -> Path:
        self._starts += 1
        return self.place / f"server-{self._starts}"

    def start(self) -> WeftServer:
        return WeftServer(self._next_place(), config_of(self.training, 1))

    def kill_while_starting(self, config: Path, model: str) -> None:
        process = subprocess.Popen([program(), "serve", model, "--port", "0", "--config", str(config)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.dice.uniform(0, 1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.kills["starting"] += 1

    def kill_in(self, server: WeftServer, job: str, saved: int) -> int:
        """Kills the server at a random moment, unless the job is over before; returns the last step known to be saved."""
        moment = time.monotonic() + self.dice.uniform(0, self.job_s)
        status = "queued"
        while time.monotonic() < moment:
            now = job_of(server, job)
            status = now["status"]
            if status in OVER:
                return saved
            if status == "running" and now["steps_done"] < saved:
                self.wrong.append(f"{job} is at step {now['steps_done']}, and step {saved} was saved")
            saved = max(saved, saved_step(server, job))
            time.sleep(POLL_S)
        server.kill(signal.SIGKILL)
        server.wait()
        server.expect_clean_log()
        self.kills[status] += 1
        return saved

    def run_job(self, most: int, wanted: dict[str, bytes]) -> None:
        """Runs a job to its end, and kills its server up to `most` times meanwhile."""
        server = self.start()
        job = create(server, upload(server))
        saved = 0
        while self.kills.total() < most:
            saved = self.kill_in(server, job, saved)
            if server.process.poll() is None:
                break
            if self.dice.random() < WHILE_STARTING:
                self.kill_while_starting(self.place / f"server-{self._starts}" / "weft.toml", str(server.process.args[2]))
            server = self.start()
        wait_until_over(server, job)
        self.wrong += mistakes_in(server, self.training, job, wanted)
        # The folder keeps no more than it must.
        left = sorted(os.listdir(self.training / "jobs" / job))
        if left != ["adapter", "job.json"]:
            self.wrong.append(f"{job} has left {left}")
        call(server, "DELETE", f"/v1/models/{job_of(server, job)['fine_tuned_model']}")
        for file in call(server, "GET", "/v1/files")["data"]:
            call(server, "DELETE", f"/v1/files/{file['id']}")
        server.stop()


def main() -> None:
    options = parse(__doc__, ("--times", int, 200, "how often"))
    rows = Rows("jobs")
    jobs = 0
    with tempfile.TemporaryDirectory() as name:
        wanted, job_s = undisturbed(Path(name) / "undisturbed")
        killed = Killed(Path(name) / "killed", random.Random(options.seed), job_s)
        while killed.kills.total() < options.times:
            try:
                killed.run_job(options.times, wanted)
            except (AssertionError, urllib.error.URLError) as failure:
                killed.wrong.append(f"{type(failure).__name__}: {failure}")
                break
            jobs += 1
    rows.add(f"{killed.kills.total()} x SIGKILL during {jobs} fine-tuning jobs",
             "each job goes on from its last state, ends once, and has the adapter of an undisturbed job, byte for byte",
             f"{dict(killed.kills)}, wrong {len(killed.wrong)} {killed.wrong[:3]}", not killed.wrong)
    rows.exit()


if __name__ == "__main__":
    main()
