"""The fine-tuning jobs that the page at `/` shows beside the loom: their status, their loss, and how one is cancelled."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Page, Route, expect  # noqa: E402

from browser_page import PATIENCE_MS, OpenPage  # noqa: E402
from conftest import StartServer, client_of  # noqa: E402
from waiting import PATIENCE_S, eventually  # noqa: E402

JOBS = "/v1/fine_tuning/jobs"


class PlayedJobs:
    """Jobs that a test plays: the page reads what this has at that moment."""

    def __init__(self, *jobs: dict[str, Any]) -> None:
        self.jobs = list(jobs)
        self.losses: list[float] = []
        self.asked: list[str] = []

    def prepare(self, page: Page) -> None:
        page.route("**/requests", lambda route: route.fulfill(json={"requests": [], "rows": [], "fine_tuning": True}))
        page.route(re.compile(JOBS + r"\?limit=5$"), lambda route: route.fulfill(json={"data": self.jobs}))
        page.route(re.compile(JOBS + r"/[^/]+/events\?"), self._answer_events)

    def _answer_events(self, route: Route) -> None:
        self.asked.append(route.request.url)
        after = re.search("after=event-([0-9]+)", route.request.url)
        first = int(after[1]) if after else 0
        events = [{"id": f"event-{i + 1}", "data": {"step": i + 1, "train_loss": loss}} for i, loss in enumerate(self.losses)]
        route.fulfill(json={"data": events[first:]})


def job(status: str, steps_done: int = 0, **more: Any) -> dict[str, Any]:
    return {"id": "ftjob-1", "status": status, "steps": 4, "steps_done": steps_done, "model": "demo",
            "user_provided_suffix": "faq", "fine_tuned_model": None, "error": None, **more}


def points(page: Page) -> list[list[float]]:
    drawn = page.locator("#jobs .curve").get_attribute("points") or ""
    return [[float(number) for number in point.split(",")] for point in drawn.split()]


def test_without_fine_tuning_there_are_no_jobs_to_read(open_page: OpenPage) -> None:
    asked: list[str] = []
    page = open_page(prepare=lambda page: page.on("request", lambda request: asked.append(request.url)))
    eventually(lambda: page.wait_for_timeout(20) or sum(url.endswith("/requests") for url in asked) > 2, "the loom is read")
    expect(page.locator("#jobs")).to_be_hidden()
    assert not [url for url in asked if "fine_tuning" in url]


def test_a_jobs_loss_is_drawn_as_it_comes(open_page: OpenPage) -> None:
    played = PlayedJobs(job("running", 2))
    played.losses = [2.5, 1.5]
    page = open_page(prepare=played.prepare)
    curve = page.locator("#jobs svg")
    expect(curve).to_have_attribute("aria-label", "The loss of faq, ftjob-1: 2.50 at step 1, 1.50 at step 2.",
                                    timeout=PATIENCE_MS)
    expect(page.locator("#jobs summary")).to_have_text("Fine-tuning: trains, step 2 of 4")
    (left, high), (middle, low) = points(page)
    assert left < middle < 150 and high < low, "half of the steps, and a lower loss stands lower"
    played.losses += [1.0, 0.5]
    played.jobs = [job("succeeded", 4, fine_tuned_model="ft:demo:faq:1")]
    expect(page.locator("#jobs .state")).to_have_text("has its model", timeout=PATIENCE_MS)
    expect(page.locator("#jobs .axis")).to_have_text("step 4 of 4loss 2.50 → 0.500", timeout=PATIENCE_MS)
    assert len(points(page)) == 4
    events = [url for url in played.asked if "/events" in url]
    assert ["after=" in url for url in events] == [False] + [True] * (len(events) - 1), "events are read once"
    expect(page.get_by_role("button", name="Cancel ft:demo:faq:1")).to_be_hidden()


def test_the_jobs_of_another_key_are_not_left_on_the_page(open_page: OpenPage) -> None:
    played = PlayedJobs(job("running", 2))
    page = open_page(prepare=played.prepare)
    expect(page.locator("#jobs .state")).to_have_text("trains", timeout=PATIENCE_MS)
    page.route(re.compile(JOBS + r"\?limit=5$"), lambda route: None)  # a server that does not answer
    page.get_by_role("button", name="Settings").click()
    page.locator("dialog [name=key]").fill("sesame")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#jobs")).to_be_hidden(timeout=PATIENCE_MS)


def test_a_job_that_goes_back_to_its_state_is_read_anew(open_page: OpenPage) -> None:
    played = PlayedJobs(job("running", 3))
    played.losses = [3.0, 2.0, 9.0]
    page = open_page(prepare=played.prepare)
    expect(page.locator("#jobs .axis")).to_contain_text("→ 9.00", timeout=PATIENCE_MS)
    played.losses = [3.0, 2.0]
    played.jobs = [job("running", 2)]
    expect(page.locator("#jobs .axis")).to_contain_text("loss 3.00 → 2.00", timeout=PATIENCE_MS)
    assert len(points(page)) == 2


def test_a_job_is_cancelled_once_the_visitor_is_sure(open_page: OpenPage) -> None:
    played = PlayedJobs(job("queued"))
    cancelled: list[str] = []

    def cancel(route: Route) -> None:
        cancelled.append(route.request.method)
        played.jobs = [job("cancelled")]
        route.fulfill(json=played.jobs[0])

    page = open_page(prepare=played.prepare)
    page.route("**" + JOBS + "/ftjob-1/cancel", cancel)
    button = page.get_by_role("button", name="Cancel faq, ftjob-1")
    page.once("dialog", lambda dialog: dialog.dismiss())
    button.click()
    assert cancelled == []
    page.once("dialog", lambda dialog: dialog.accept())
    button.click()
    expect(page.locator("#jobs .state")).to_have_text("was cancelled", timeout=PATIENCE_MS)
    expect(button).to_be_hidden()
    assert cancelled == ["POST"]


def test_a_refusal_to_cancel_is_told(open_page: OpenPage) -> None:
    played = PlayedJobs(job("running", 1))
    answer = {"error": {"message": "the disk is full"}}
    # Chromium would complain about the status itself.
    refuse = """(answer) => { const fetchNow = window.fetch; window.fetch = (url, options) =>
        String(url).endsWith('/cancel') ? Promise.resolve(new Response(answer, {status: 507})) : fetchNow(url, options); }"""
    page = open_page(prepare=played.prepare)
    page.evaluate(refuse, json.dumps(answer))
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel faq, ftjob-1").click()
    expect(page.locator("#jobs .told")).to_have_text("The disk is full.", timeout=PATIENCE_MS)


def test_a_failed_job_says_why_and_markup_stays_text(open_page: OpenPage) -> None:
    markup = "line 3: <img src=x>"
    played = PlayedJobs(job("failed", error={"code": "invalid_training_file", "message": markup, "param": None},
                            user_provided_suffix="<b>faq</b>"))
    page = open_page(prepare=played.prepare)
    expect(page.locator("#jobs .told")).to_have_text("Line 3: <img src=x>.", timeout=PATIENCE_MS)
    expect(page.locator("#jobs .name")).to_have_text("<b>faq</b>, ftjob-1")
    assert page.locator("#jobs :is(img, b)").count() == 0


@pytest.mark.parametrize("width", [320, 390, 768, 1920])
def test_jobs_leave_room_for_the_message(open_page: OpenPage, width: int) -> None:
    jobs = [job("running", 4, id=f"ftjob-{i}", user_provided_suffix="averylongsuffix" * 4) for i in range(5)]
    played = PlayedJobs(*jobs)
    played.losses = [4.0, 3.0, 2.0, 1.0]
    page = open_page(width=width, height=720, prepare=played.prepare)
    expect(page.locator("#jobs li")).to_have_count(5, timeout=PATIENCE_MS)
    if page.locator("#jobs[open]").count() == 0:
        page.locator("#jobs summary").click()
    expect(page.locator("#jobs svg").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.get_by_role("button", name="Send")).to_be_in_viewport(ratio=1)


# The page is closed before its server ends: its fixture comes later.
def test_a_job_of_the_server_is_drawn_and_its_model_can_be_asked(start_server: StartServer, open_page: OpenPage,
                                                                  tmp_path: Path) -> None:
    server = start_server(training={"folder": str(tmp_path / "training")})
    page = open_page(url=server.url)
    line = json.dumps({"messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "The weaver."}]})
    with client_of(server) as client:
        file = client.files.create(file=("a.jsonl", (line + "\n").encode() * 8), purpose="fine-tune").id
        made = client.fine_tuning.jobs.create(model="model", training_file=file, suffix="who", method={
            "type": "supervised", "supervised": {"hyperparameters": {"n_epochs": 3, "batch_size": 8, "lora_rank": 4}}})
        over: Callable[[], bool] = lambda: client.fine_tuning.jobs.retrieve(made.id).status == "succeeded"
        eventually(over, "the job has its model", seconds=4 * PATIENCE_S)
    expect(page.locator("#jobs .state")).to_have_text("has its model", timeout=PATIENCE_MS)
    expect(page.locator("#jobs .axis")).to_contain_text("step 3 of 3", timeout=PATIENCE_MS)
    eventually(lambda: page.wait_for_timeout(20) or len(points(page)) == 3, "its three losses are drawn")
    page.reload()
    name = f"ft:model:who:{made.id.removeprefix('ftjob-')}"
    expect(page.locator("#models option", has_text=name)).to_have_count(1, timeout=PATIENCE_MS)
