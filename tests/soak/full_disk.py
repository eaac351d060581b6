#!/usr/bin/env python3
"""A fine-tuning job whose disk is full behind its last step: it waits, and ends when there is room. Needs root, which may
mount a small disk."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from soak import SKIPPED, Rows, WeftServer, eventually, parse

from tuning_jobs import (config_of, create, job_of, messages_of, mistakes_in, refusal, undisturbed, upload, wait_until_over)

DISK = "16m"
WAITS_S = 300.0


def fill(path: Path) -> None:
    """Writes a file until the disk takes no byte more."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def play(place: Path, disk: Path, rows: Rows) -> None:
    wanted, _ = undisturbed(place)
    training = disk / "training"
    server = WeftServer(place / "server", config_of(training, 2))
    job = create(server, upload(server))
    eventually(lambda: job_of(server, job)["steps_done"] > 0, "the job has begun", seconds=WAITS_S)
    fill(disk / "fill")
    status = refusal(server, upload)
    rows.add("an upload to a full disk", "refused", str(status), status >= 400)
    eventually(lambda: any("takes no more" in text for text in messages_of(server, job)), "the job waits", seconds=WAITS_S)
    now = job_of(server, job)
    told = "No space left on device" in server.log()
    rows.add("a job whose disk is full behind its last step", "runs on, and the log says why",
             f"{now['status']}, the log {'does' if told else 'does not'}", now["status"] == "running" and told)
    (disk / "fill").unlink()
    wait_until_over(server, job)
    wrong = mistakes_in(server, training, job, wanted)
    rows.add("that job when there is room again", "ends once, with the adapter of an undisturbed job, byte for byte",
             str(wrong or "it does"), not wrong)
    server.stop()


def main() -> None:
    parse(__doc__)
    if os.geteuid() != 0:
        print("skipped: only root may mount a disk")
        sys.exit(SKIPPED)
    rows = Rows("full disk")
    with tempfile.TemporaryDirectory() as name:
        disk = Path(name) / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(disk)], capture_output=True)
        if mounted.returncode != 0:
            print(f"skipped: no disk can be mounted: {mounted.stderr.decode().strip()}")
            sys.exit(SKIPPED)
        try:
            play(Path(name), disk, rows)
        finally:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)
    rows.exit()


if __name__ == "__main__":
    main()
