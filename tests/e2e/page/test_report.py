"""The page that a measurement writes, in a browser: nothing of its tables is hidden where there is room."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Page  # noqa: E402

from weft_server import MODEL, program  # noqa: E402

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

# A page of this many pixels must show the report without scrolling sideways.
WIDTH = 1200


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    file = Path(tmp_path_factory.mktemp("report")) / "report.html"
    # This recipe's table has the most columns.
    subprocess.run([program(), "bench", "recipe", "policies", MODEL, "--scale", "0.1", "--repeats", "2", "--html", file],
                   check=True, capture_output=True)
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 800})
        page.goto(file.as_uri())
        yield page
        browser.close()


def test_no_column_is_hidden(report: Page):
    boxes = report.locator(".table .scroll")
    assert boxes.count() > 0
    for i in range(boxes.count()):
        hidden = boxes.nth(i).evaluate("(box) => box.scrollWidth - box.clientWidth")
        assert hidden <= 0, boxes.nth(i).get_attribute("aria-label")


def test_it_says_of_which_machine_it_is(report: Page):
    names = report.locator("dt").all_text_contents()
    assert {"processor", "threads", "weft", "date", "load average"} <= set(names)
