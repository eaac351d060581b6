"""Fine-tuning jobs of a server, and what they leave in its folder, for the parts of the soak that disturb them."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from waiting import PATIENCE_S, eventually
from weft_server import WeftServer

EXAMPLES = 32
STEPS = 12  # of three epochs
OVER = ("succeeded", "failed", "cancelled")


def config_of(folder: Path, checkpoint_steps: int) -> dict[str, Any]:
    return {"memory": {"max_rows": 8, "max_pages": 256, "max_context": 256},
            "training": {"folder": str(folder), "checkpoint_steps": checkpoint_steps}}


def training_data() -> bytes:
    lines = ({"messages": [{"role": "user", "content": f"Weave {i}."}, {"role": "assistant", "content": f"Cloth {7 * i}."}]}
             for i in range(EXAMPLES))
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def call(server: WeftServer, method: str, path: str, body: bytes | None = None,
         content_type: str = "application/json") -> dict[str, Any]:
    request = urllib.request.Request(server.url + path, data=body, method=method, headers={"Content-Type": content_type})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.loads(answer.read())


def upload(server: WeftServer) -> str:
    edge = "edge-of-a-part"
    body = (f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nfine-tune\r\n'
            f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n').encode()
    body += training_data() + f"\r\n--{edge}--\r\n".encode()
    return call(server, "POST", "/v1/files", body, f"multipart/form-data; boundary={edge}")["id"]


def create(server: WeftServer, file: str) -> str:
    numbers = {"n_epochs": 3, "batch_size": 8, "lora_rank": 4, "lora_target_modules": ["q", "v"]}
    job = {"model": "model", "training_file": file, "seed": 3,
           "method": {"type": "supervised", "supervised": {"hyperparameters": numbers}}}
    return call(server, "POST", "/v1/fine_tuning/jobs", json.dumps(job).encode())["id"]


def job_of(server: WeftServer, job: str) -> dict[str, Any]:
    return call(server, "GET", f"/v1/fine_tuning/jobs/{job}")


def messages_of(server: WeftServer, job: str) -> list[str]:
    return [event["message"] for event in call(server, "GET", f"/v1/fine_tuning/jobs/{job}/events?limit=1000")["data"]]


def saved_step(server: WeftServer, job: str) -> int:
    """The step of the newest state on the disk; 0: there is none."""
    return max((one["step_number"] for one in call(server, "GET", f"/v1/fine_tuning/jobs/{job}/checkpoints")["data"]), default=0)


def wait_until_over(server: WeftServer, job: str) -> dict[str, Any]:
    eventually(lambda: job_of(server, job)["status"] in OVER, f"the job is over\n{server.log()}", seconds=10 * PATIENCE_S)
    return job_of(server, job)


def adapter_of(folder: Path, job: str) -> dict[str, bytes]:
    """The files of a job's result."""
    return {path.name: path.read_bytes() for path in sorted((folder / "jobs" / job / "adapter").iterdir())}


def steps_in_metrics(server: WeftServer, job: dict[str, Any]) -> list[int]:
    request = urllib.request.urlopen(f"{server.url}/v1/files/{job['result_files'][0]}/content", timeout=PATIENCE_S)
    with request as answer:
        return [int(line.split(",")[0]) for line in answer.read().decode().splitlines()[1:]]


def mistakes_in(server: WeftServer, folder: Path, job: str, wanted: dict[str, bytes]) -> list[str]:
    """What is wrong with a job that should have ended as an undisturbed one."""
    now = job_of(server, job)
    if now["status"] != "succeeded":
        return [f"{job} is {now['status']}: {now['error']}"]
    wrong = []
    if adapter_of(folder, job) != wanted:
        wrong.append(f"{job} has another adapter")
    if messages_of(server, job).count("The job has successfully completed") != 1:
        wrong.append(f"{job} has not ended once")
    if steps_in_metrics(server, now) != list(range(1, STEPS + 1)):
        wrong.append(f"{job} has the steps {steps_in_metrics(server, now)}")
    if now["fine_tuned_model"] not in [one["id"] for one in call(server, "GET", "/v1/models")["data"]]:
        wrong.append(f"{job}'s model is not served")
    return wrong


def undisturbed(folder: Path) -> tuple[dict[str, bytes], float]:
    """The adapter of a job that nothing disturbs, and the seconds that it took."""
    server = WeftServer(folder / "server", config_of(folder / "training", 1))
    began = time.monotonic()
    job = create(server, upload(server))
    wait_until_over(server, job)
    took = time.monotonic() - began
    adapter = adapter_of(folder / "training", job)
    server.stop()
    return adapter, took


def refusal(server: WeftServer, what: Any) -> int:
    """The status with which a call is refused; 200: it is not."""
    try:
        what(server)
    except urllib.error.HTTPError as refused:
        return refused.code
    return 200
