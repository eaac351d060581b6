#!/usr/bin/env python3
"""Fine-tuning jobs whose disk is full: they wait, can be stopped, and end when there is room. Needs root, which may mount a
small disk."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from soak import SKIPPED, Rows, WeftServer, eventually, parse

from tuning_jobs import (call, config_of, create, job_of, messages_of, mistakes_in, refusal, undisturbed, upload, wait_until_over)

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


def waiting_job(server: WeftServer, disk: Path) -> str:
    """A job that waits for its disk, which is full."""
    job = create(server, upload(server))
    eventually(lambda: job_of(server, job)["steps_done"] > 0, "the job has begun", seconds=WAITS_S)
    fill(disk / "fill")
    eventually(lambda: any("takes no more" in text for text in messages_of(server, job)), "the job waits", seconds=WAITS_S)
    return job


def stop(server: WeftServer, job: str, verb: str) -> str:
    """The status of the answer to `verb`, and the job's then."""
    status = refusal(server, lambda server: call(server, "POST", f"/v1/fine_tuning/jobs/{job}/{verb}"))
    return f"{status}, {job_of(server, job)['status']}"


def play(place: Path, disk: Path, rows: Rows) -> None:
    wanted, _ = undisturbed(place)
    training = disk / "training"
    server = WeftServer(place / "server", config_of(training, 2))
    job = waiting_job(server, disk)
    status = refusal(server, upload)
    rows.add("an upload to a full disk", "refused with 507", str(status), status == 507)
    now = job_of(server, job)
    told = "No space left on device" in server.log()
    rows.add("a job whose disk is full behind its last step", "runs on, and the log says why",
             f"{now['status']}, the log {'does' if told else 'does not'}", now["status"] == "running" and told)
    (disk / "fill").unlink()
    wait_until_over(server, job)
    wrong = mistakes_in(server, training, job, wanted)
    rows.add("that job when there is room again", "ends once, with the adapter of an undisturbed job, byte for byte",
             str(wrong or "it does"), not wrong)
    job = waiting_job(server, disk)
    seen = stop(server, job, "pause")
    rows.add("a job that is paused on a full disk", "paused, and 507 says that this is not written", seen, seen == "507, paused")
    (disk / "fill").unlink()
    call(server, "POST", f"/v1/fine_tuning/jobs/{job}/resume")
    wait_until_over(server, job)
    wrong = mistakes_in(server, training, job, wanted)
    rows.add("that job when there is room and it is resumed", "ends once, with the adapter of an undisturbed job, byte for byte",
             str(wrong or "it does"), not wrong)
    seen = stop(server, waiting_job(server, disk), "cancel")
    rows.add("a job that is cancelled on a full disk", "cancelled: its training makes room for its record", seen,
             seen == "200, cancelled")
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
