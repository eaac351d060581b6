"""Fine-tuning as OpenAI's client does it: files, jobs, and the models that come of them, over restarts."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import openai
import pytest

from conftest import StartServer, chat, client_of
from raw_http import RawClient
from waiting import PATIENCE_S, eventually
from weft_server import WeftServer

QUESTION = [{"role": "user", "content": "Who are you?"}]
ANSWER = "I am the weaver."


def training_data(lines: int = 16) -> bytes:
    line = json.dumps({"messages": [*QUESTION, {"role": "assistant", "content": ANSWER}]})
    return "".join(line + "\n" for _ in range(lines)).encode()


def hyperparameters(epochs: int, **more: Any) -> dict[str, Any]:
    return {"method": {"type": "supervised", "supervised": {"hyperparameters": {
        "n_epochs": epochs, "batch_size": 8, "learning_rate_multiplier": 10, "lora_rank": 8, **more}}}}


def upload(client: openai.OpenAI, data: bytes | None = None) -> Any:
    return client.files.create(file=("weaver.jsonl", data or training_data()), purpose="fine-tune")


def create(client: openai.OpenAI, epochs: int = 8, **more: Any) -> Any:
    return client.fine_tuning.jobs.create(model="model", training_file=upload(client).id, seed=1, suffix="weaver",
                                          **hyperparameters(epochs), **more)


def reaches(client: openai.OpenAI, job: Any, status: str) -> Any:
    def there() -> bool:
        now = client.fine_tuning.jobs.retrieve(job.id)
        assert now.status == status or now.status not in ("succeeded", "failed", "cancelled"), now
        return now.status == status
    eventually(there, f"the job is {status}", seconds=4 * PATIENCE_S)
    return client.fine_tuning.jobs.retrieve(job.id)


def says(client: openai.OpenAI, model: str) -> str:
    return chat(client, model=model, messages=QUESTION, max_tokens=16, temperature=0).choices[0].message.content


def steps_of(client: openai.OpenAI, job: Any) -> list[int]:
    text = client.files.content(job.result_files[0]).text
    return [int(row["step"]) for row in csv.DictReader(io.StringIO(text))]


def messages_of(client: openai.OpenAI, job: Any) -> list[str]:
    return [event.message for event in client.fine_tuning.jobs.list_events(job.id, limit=1000).data]


def change_model(server: WeftServer, verb: str) -> int:
    with RawClient(server.port) as raw:
        return raw.post(f"/v1/models/{verb}", {"model": "model"}, "Host: localhost").read().status


@pytest.fixture
def tuning(tmp_path: Path) -> dict[str, Any]:
    return {"training": {"folder": str(tmp_path / "training"), "checkpoint_steps": 2}}


def test_a_client_tunes_asks_and_deletes_a_model(start_server: StartServer, tuning: dict[str, Any]):
    server = start_server(**tuning)
    with client_of(server) as client:
        file = upload(client)
        assert file.purpose == "fine-tune" and file.filename == "weaver.jsonl" and file.bytes == len(training_data())
        assert client.files.retrieve(file.id) == file
        assert client.files.content(file.id).content == training_data()
        assert [one.id for one in client.files.list()] == [file.id]

        before = says(client, "model")
        assert before != ANSWER
        job = client.fine_tuning.jobs.create(model="model", training_file=file.id, seed=1, suffix="weaver",
                                             metadata={"for": "tests"}, **hyperparameters(8))
        assert job.object == "fine_tuning.job" and job.status in ("queued", "validating_files", "running")
        assert client.files.delete(file.id).deleted  # the job has its own
        job = reaches(client, job, "succeeded")
        assert job.fine_tuned_model == f"ft:model:weaver:{job.id.removeprefix('ftjob-')}"
        assert job.hyperparameters.n_epochs == 8 and job.metadata == {"for": "tests"}
        assert job.trained_tokens > 0 and job.error is None and job.finished_at >= job.created_at
        assert steps_of(client, job) == list(range(1, 17))

        assert says(client, job.fine_tuned_model) == ANSWER
        assert says(client, "model") == before
        assert job.fine_tuned_model in [model.id for model in client.models.list()]

        events = client.fine_tuning.jobs.list_events(job.id, limit=5)
        assert events.data[0].message == "The job has successfully completed" and events.has_more
        assert len(list(events)) > 16  # the client turns the pages
        losses = [event.data["train_loss"] for event in client.fine_tuning.jobs.list_events(job.id, limit=1000).data
                  if event.type == "metrics"]
        assert losses[0] < losses[-1]  # the newest is first
        point = client.fine_tuning.jobs.checkpoints.list(job.id).data[0]
        assert point.step_number == 16 and point.metrics.train_loss == pytest.approx(losses[0], rel=1e-3)
        assert [one.id for one in client.fine_tuning.jobs.list()] == [job.id]

        assert client.models.delete(job.fine_tuned_model).deleted
        with pytest.raises(openai.NotFoundError):
            says(client, job.fine_tuned_model)


def test_mistakes_name_line_and_field(start_server: StartServer, tuning: dict[str, Any]):
    server = start_server(**tuning)
    with client_of(server) as client:
        with pytest.raises(openai.BadRequestError, match=r"line 2: messages\[0\].role: must be"):
            upload(client, b'{"text": "a"}\n{"messages": [{"role": "robot", "content": "a"}]}\n')
        with pytest.raises(openai.BadRequestError, match="purpose"):
            client.files.create(file=("a.jsonl", training_data()), purpose="batch")
        file = upload(client).id
        for fields, param in ((hyperparameters(0), "method.supervised.hyperparameters.n_epochs"),
                              ({"method": {"type": "dpo"}}, "method.type"), ({"validation_file": file}, "validation_file"),
                              (hyperparameters(1, lora_rank=64), "lora_rank")):
            with pytest.raises(openai.BadRequestError) as refused:
                client.fine_tuning.jobs.create(model="model", training_file=file, **fields)
            assert refused.value.param == param
        with pytest.raises(openai.BadRequestError, match="model"):
            client.fine_tuning.jobs.create(model="another", training_file=file)
        with pytest.raises(openai.NotFoundError):
            client.fine_tuning.jobs.retrieve("ftjob-another")


def test_a_job_of_a_killed_server_goes_on_from_its_last_state(start_server: StartServer, tuning: dict[str, Any]):
    first = start_server(**tuning)
    with client_of(first) as client:
        job = create(client, epochs=12)
        eventually(lambda: len(client.fine_tuning.jobs.checkpoints.list(job.id).data) > 0, "a state is saved")
        assert client.fine_tuning.jobs.retrieve(job.id).status == "running"
    first.process.kill()
    first.process.wait()
    second = start_server(**tuning)
    with client_of(second) as client:
        done = reaches(client, job, "succeeded")
        assert steps_of(client, done) == list(range(1, 25))
        assert any(text.startswith("Continued behind step") for text in messages_of(client, done))
        assert says(client, done.fine_tuned_model) == ANSWER
    second.stop()
    third = start_server(**tuning)  # the model is there from the first request on
    with client_of(third) as client:
        assert says(client, done.fine_tuned_model) == ANSWER


def test_a_tuned_model_comes_back_with_its_base(start_server: StartServer, tuning: dict[str, Any]):
    server = start_server(**tuning)
    with client_of(server) as client:
        done = reaches(client, create(client), "succeeded")
        assert says(client, done.fine_tuned_model) == ANSWER
        assert change_model(server, "unload") == 200
        assert done.fine_tuned_model not in [model.id for model in client.models.list()]
        assert change_model(server, "load") == 200
        eventually(lambda: done.fine_tuned_model in [model.id for model in client.models.list()], "it is served again")
        assert says(client, done.fine_tuned_model) == ANSWER


def test_a_job_is_paused_resumed_and_cancelled(start_server: StartServer, tuning: dict[str, Any]):
    server = start_server(**tuning)
    with client_of(server) as client:
        job = create(client, epochs=12)
        eventually(lambda: client.fine_tuning.jobs.retrieve(job.id).to_dict()["steps_done"] > 2, "it has begun")
        assert client.fine_tuning.jobs.pause(job.id).status == "paused"
        other = create(client, epochs=1)
        reaches(client, other, "succeeded")  # it has its turn meanwhile
        assert client.fine_tuning.jobs.retrieve(job.id).status == "paused"
        assert client.fine_tuning.jobs.resume(job.id).status == "queued"
        done = reaches(client, job, "succeeded")
        assert steps_of(client, done) == list(range(1, 25))
        last = create(client, epochs=1000)
        reaches(client, last, "running")
        assert client.fine_tuning.jobs.cancel(last.id).status == "cancelled"
        with pytest.raises(openai.BadRequestError, match="cancelled"):
            client.fine_tuning.jobs.resume(last.id)


def test_answers_come_while_a_job_trains(start_server: StartServer, tuning: dict[str, Any]):
    tuning["training"]["policy"] = "fill"
    server = start_server(**tuning)
    with client_of(server) as client:
        alone = says(client, "model")
        job = create(client, epochs=12)
        reaches(client, job, "running")
        for _ in range(5):
            assert says(client, "model") == alone
        reaches(client, job, "succeeded")


def test_keys_see_their_own_files_and_jobs_alone(start_server: StartServer, tuning: dict[str, Any], tmp_path: Path):
    keys = tmp_path / "keys.toml"
    keys.write_text('[[key]]\nname = "ann"\nkey = "a"\n[[key]]\nname = "bob"\nkey = "b"\n')
    server: WeftServer = start_server(key="a", auth={"api_key_file": str(keys)}, **tuning)
    with client_of(server, api_key="a") as ann, client_of(server, api_key="b") as bob:
        job = create(ann, epochs=1)
        assert list(bob.files.list()) == [] and list(bob.fine_tuning.jobs.list()) == []
        with pytest.raises(openai.NotFoundError):
            bob.fine_tuning.jobs.cancel(job.id)
        with pytest.raises(openai.NotFoundError):
            bob.files.retrieve(job.training_file)
        reaches(ann, job, "succeeded")


def test_a_server_without_a_folder_names_the_key(start_server: StartServer):
    with client_of(start_server()) as client:
        with pytest.raises(openai.NotFoundError, match="training.folder"):
            upload(client)
        with pytest.raises(openai.NotFoundError, match="training.folder"):
            client.fine_tuning.jobs.list()
