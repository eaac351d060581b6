"""The page that `/` shows, in a browser: what a visitor does with it, and what it asks of the engine."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Page, Route, WebSocketRoute, expect  # noqa: E402

from browser_page import PATIENCE_MS, OpenPage  # noqa: E402
from waiting import eventually  # noqa: E402

# Text on its background; WCAG 2.2, success criterion 1.4.3.
LEAST_CONTRAST = 4.5


def ask(page: Page, message: str) -> None:
    page.get_by_label("Message").fill(message)
    page.get_by_label("Message").press("Enter")


def set_fields(page: Page, **fields: str) -> None:
    page.get_by_role("button", name="Settings").click()
    for name, value in fields.items():
        page.locator(f"dialog [name={name}]").fill(value)
    page.get_by_role("button", name="Save").click()


def change_requests(**fields: Any) -> Callable[[Page], None]:
    """Every request of the page has these fields too."""

    def pass_on(socket: WebSocketRoute) -> None:
        server_side = socket.connect_to_server()
        added = "".join(f',"{name}":{value}' for name, value in fields.items())
        socket.on_message(lambda text: server_side.send(
            re.sub(r'^\{"type":"response\.create"', '{"type":"response.create"' + added, str(text))))

    return lambda page: page.route_web_socket(re.compile("/v1/responses$"), pass_on)


def threads_drawn(page: Page) -> int:
    """How many points of the tracks have the colour of a thread: the warp and the ground are nearly grey."""
    return page.locator("#tracks").evaluate("""(canvas) => {
        const points = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let coloured = 0;
        for (let i = 0; i < points.length; i += 4) {
            const [red, green, blue, alpha] = points.subarray(i, i + 4);
            coloured += alpha > 200 && Math.max(red, green, blue) - Math.min(red, green, blue) > 40;
        }
        return coloured;
    }""")


def test_the_page_loads_and_fetches_nothing_from_elsewhere(open_page: OpenPage, server: Any) -> None:
    asked: list[str] = []
    page = open_page(prepare=lambda page: page.on("request", lambda request: asked.append(request.url)))
    expect(page).to_have_title(re.compile("Weft"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Weft")
    assert all(url.startswith((server.url, "data:")) for url in asked)


def test_a_question_waits_for_the_connection(open_page: OpenPage) -> None:
    """The page asks its sockets whether they are open, and hears when they are; here not before `held` is false."""
    page = open_page(prepare=lambda page: page.add_init_script("""
        window.held = true;
        window.opened = [];
        window.WebSocket = class extends WebSocket {
            get readyState() { return held ? WebSocket.CONNECTING : super.readyState; }
            addEventListener(type, heard) {
                super.addEventListener(type, type === 'open' ? (event) => held ? opened.push(heard) : heard(event) : heard);
            }
        };"""))
    eventually(lambda: page.evaluate("opened.length") == 1, "its socket would have opened")
    ask(page, "Who are you?")
    eventually(lambda: page.evaluate("opened.length") == 2, "the question has made it connect again")
    expect(page.locator("article")).to_have_count(0)
    page.evaluate("() => { held = false; opened[1](); }")
    expect(page.locator(".meta:not(:empty)")).to_have_count(1, timeout=PATIENCE_MS)


def test_a_connection_that_opens_late_loses_no_question(open_page: OpenPage) -> None:
    """The question has made the page connect again, and while that looks for the model the first socket opens."""
    page = open_page(prepare=lambda page: page.add_init_script("""
        window.opened = [];
        window.models = [];
        const fetchNow = window.fetch;
        window.fetch = async (url, options) => {
            if (String(url).endsWith('/v1/models') && opened.length === 1) await new Promise((done) => models.push(done));
            return fetchNow(url, options);
        };
        window.WebSocket = class extends WebSocket {
            get readyState() { return this.held ? WebSocket.CONNECTING : super.readyState; }
            addEventListener(type, heard) {
                super.addEventListener(type, (event) => {
                    if (type !== 'open' || opened.length !== 0) return heard(event);
                    this.held = true;
                    opened.push(() => { this.held = false; heard(event); });
                });
            }
        };"""))
    eventually(lambda: page.evaluate("opened.length") == 1, "its socket would have opened")
    ask(page, "Who are you?")
    eventually(lambda: page.evaluate("models.length") == 1, "the question has made it connect again")
    page.evaluate("() => { opened[0](); models[0](); }")
    expect(page.locator(".meta")).to_contain_text("tokens", timeout=PATIENCE_MS)
    expect(page.locator(".wrong")).to_have_count(0)


def test_a_question_is_answered(open_page: OpenPage) -> None:
    page = open_page()
    set_fields(page, temperature="0")
    ask(page, "What is 345 + 278?")
    expect(page.locator(".answer")).to_contain_text("623", timeout=PATIENCE_MS)
    expect(page.locator(".meta")).to_contain_text("tokens", timeout=PATIENCE_MS)
    expect(page.get_by_label("Message")).to_be_focused()
    expect(page.locator("article")).to_have_attribute("aria-busy", "false")


def test_a_second_question_goes_on_from_the_first(open_page: OpenPage) -> None:
    sent: list[str] = []
    page = open_page(prepare=lambda page: page.on(
        "websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(str(frame)))))
    ask(page, "Who are you?")
    expect(page.locator(".meta:not(:empty)")).to_have_count(1, timeout=PATIENCE_MS)
    ask(page, "What is 1 + 1?")
    expect(page.locator(".meta:not(:empty)")).to_have_count(2, timeout=PATIENCE_MS)
    assert '"previous_response_id":"resp_' in sent[-1] and "Who are you?" not in sent[-1]
    page.get_by_role("button", name="New chat").click()
    expect(page.locator("article")).to_have_count(0)
    ask(page, "Hello")
    expect(page.locator(".meta:not(:empty)")).to_have_count(1, timeout=PATIENCE_MS)
    assert "previous_response_id" not in sent[-1]


# "Stop" while there is something to stop.
STOPS = {
    "button": "document.querySelector('#send').click()",
    "key": "document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))",
}


@pytest.mark.parametrize("way", sorted(STOPS))
def test_an_answer_can_be_stopped(open_page: OpenPage, way: str) -> None:
    page = open_page(prepare=change_requests(ignore_eos="true", max_output_tokens="900"))
    # The page stops it itself: on a busy machine the answer may be over before a stop comes from outside.
    page.evaluate(f"""() => new MutationObserver((changes, observer) => {{
      if (!document.querySelector('.answer p')?.textContent) return;
      observer.disconnect();
      {STOPS[way]};
    }}).observe(document.body, {{ childList: true, subtree: true, characterData: true }})""")
    ask(page, "Tell me a story.")
    expect(page.locator(".meta")).to_contain_text("stopped", timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_a_refusal_is_shown_and_the_question_can_be_asked_again(open_page: OpenPage) -> None:
    page = open_page()
    set_fields(page, temperature="1000000")
    ask(page, "Hello")
    expect(page.locator(".meta.wrong")).to_contain_text("temperature", timeout=PATIENCE_MS)
    set_fields(page, temperature="")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".meta")).to_contain_text("tokens", timeout=PATIENCE_MS)
    expect(page.locator("article")).to_have_count(1)


def answers(*deltas: str, tokens: int = 9) -> Callable[[Page], None]:
    """Every question is answered with these texts, at once."""

    def say_it(socket: WebSocketRoute) -> None:
        def answer(text: str | bytes) -> None:
            stream_id = json.loads(text)["stream_id"]
            done = {"id": "resp_1", "usage": {"output_tokens": tokens}}
            for event in ({"type": "response.created", "response": {"id": "resp_1"}},
                          *({"type": "response.output_text.delta", "delta": delta} for delta in deltas),
                          {"type": "response.completed", "response": done}):
                socket.send(json.dumps({**event, "stream_id": stream_id}))

        socket.on_message(answer)

    return lambda page: page.route_web_socket(re.compile("/v1/responses$"), say_it)


def thinks_and_calls(*calls: tuple[str, str]) -> tuple[Callable[[Page], None], list[dict[str, Any]]]:
    """Every question is thought about and answered with calls, their results with text; and what is asked."""
    asked: list[dict[str, Any]] = []
    items = [{"type": "function_call", "call_id": f"call{i}", "name": name, "arguments": arguments, "status": "completed"}
             for i, (name, arguments) in enumerate(calls)]

    def say_it(socket: WebSocketRoute) -> None:
        def answer(text: str | bytes) -> None:
            request = json.loads(text)
            asked.append(request)
            is_result = request["input"][0]["type"] == "function_call_output"
            response = {"id": f"resp_{len(asked)}", "usage": {"output_tokens": 9}}
            middle = [{"type": "response.output_text.delta", "delta": "As told."}] if is_result else [
                {"type": "response.reasoning_text.delta", "delta": "Let me <b>see"},
                {"type": "response.reasoning_text.delta", "delta": "</b> then."},
                *({"type": "response.output_item.done", "item": item} for item in items)]
            for event in ({"type": "response.created", "response": response}, *middle,
                          {"type": "response.completed", "response": response}):
                socket.send(json.dumps({**event, "stream_id": request["stream_id"]}))

        socket.on_message(answer)

    return lambda page: page.route_web_socket(re.compile("/v1/responses$"), say_it), asked


def set_tools(page: Page) -> None:
    page.get_by_role("button", name="Settings").click()
    page.locator("dialog [name=tools]").select_option("page")
    page.get_by_role("button", name="Save").click()


def test_thoughts_are_folded(open_page: OpenPage) -> None:
    prepare, _ = thinks_and_calls()
    page = open_page(prepare=prepare)
    ask(page, "Hello")
    thoughts = page.locator("article details.thoughts")
    expect(thoughts.locator("summary")).to_have_text("Thoughts: 4 words", timeout=PATIENCE_MS)
    expect(thoughts.locator("p")).to_be_hidden()
    thoughts.locator("summary").click()
    expect(thoughts.locator("p")).to_have_text("Let me <b>see</b> then.")
    assert thoughts.locator("b").count() == 0
    page.reload()
    expect(page.locator("details.thoughts summary")).to_have_text("Thoughts: 4 words")


def test_calls_are_carried_out_and_shown_as_blocks(open_page: OpenPage) -> None:
    prepare, asked = thinks_and_calls(
        ("calculator", '{"expression": "2 * (3 + 4.5) - -1"}'), ("clock", "{}"), ("calculator", '{"expression": "alert(1)"}'),
        ("calculator", '{"expression": "1 / 0"}'), ("calculator", "{"), ("rm", "{}"))
    page = open_page(prepare=prepare)
    set_tools(page)
    ask(page, "What is 2 * 7.5?")
    expect(page.locator(".answer p").last).to_have_text("As told.", timeout=PATIENCE_MS)
    assert [tool["name"] for tool in asked[0]["tools"]] == ["calculator", "clock"]
    assert asked[1]["previous_response_id"] == "resp_1"
    results = [(one["call_id"], one["output"]) for one in asked[1]["input"]]
    assert results[0] == ("call0", "16")
    assert re.fullmatch(r"\w+ \w+ \d+ \d{4} \d\d:\d\d:\d\d", results[1][1]), results[1]
    assert results[2][1] == "error: only numbers, + - * / and brackets are known"
    assert results[3][1] == "error: division by zero"
    assert results[4][1].startswith("error: ")
    assert results[5][1] == "error: there is no tool of this name"
    blocks = page.locator("article .call")
    expect(blocks).to_have_count(6)
    expect(blocks.first).to_have_text('calculator {"expression": "2 * (3 + 4.5) - -1"}16')
    page.reload()
    expect(page.locator("article .call")).to_have_count(6)
    expect(page.locator(".answer p").last).to_have_text("As told.")


def test_a_model_that_calls_for_ever_is_stopped(open_page: OpenPage) -> None:
    asked: list[dict[str, Any]] = []

    def call_again(socket: WebSocketRoute) -> None:
        def answer(text: str | bytes) -> None:
            asked.append(json.loads(text))
            response = {"id": f"resp_{len(asked)}", "usage": {"output_tokens": 9}}
            item = {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}", "status": "completed"}
            for event in ({"type": "response.output_item.done", "item": item},
                          {"type": "response.completed", "response": response}):
                socket.send(json.dumps({**event, "stream_id": asked[-1]["stream_id"]}))

        socket.on_message(answer)

    page = open_page(prepare=lambda page: page.route_web_socket(re.compile("/v1/responses$"), call_again))
    set_tools(page)
    ask(page, "What time is it?")
    expect(page.locator(".meta")).to_contain_text("81 tokens", timeout=PATIENCE_MS)
    assert len(asked) == 9
    expect(page.locator("article .call")).to_have_count(9)


def test_pages_in_use_and_cached_are_shown(open_page: OpenPage) -> None:
    engine = {"running": 1, "rows": 4, "waiting": 0, "pages": 1000, "pages_free": 900, "pages_cached": 250, "ticks": 1,
              "output_tokens": 1, "first_token_median_seconds": 0}
    page = open_page(prepare=lambda page: page.route(
        "**/requests", lambda route: route.fulfill(json={"requests": [], "rows": [], "engine": engine})))
    expect(page.locator("#m-used")).to_have_text("100", timeout=PATIENCE_MS)
    expect(page.locator("#m-cached")).to_have_text("250 of 1,000 pages")
    widths = {name: page.locator(name).evaluate("(bar) => bar.offsetWidth / bar.parentElement.offsetWidth")
              for name in ("#bar-used", "#bar-cached")}
    assert widths["#bar-used"] == pytest.approx(0.1, abs=0.02)
    assert widths["#bar-cached"] == pytest.approx(0.25, abs=0.02)
    expect(page.get_by_role("img", name="Of 1000 pages of the KV cache 100 are in use, 250 can be found again.")).to_be_visible()
    for part in ("#m-host-part", "#m-files-part"):
        expect(page.locator(part)).to_be_hidden()


def test_pages_beside_the_devices_are_shown_where_there_are_any(open_page: OpenPage) -> None:
    engine = {"running": 1, "rows": 4, "waiting": 0, "pages": 1000, "pages_free": 900, "pages_cached": 250, "ticks": 1,
              "pages_on_host": 30, "pages_in_files": 4000, "output_tokens": 1, "first_token_median_seconds": 0}
    page = open_page(prepare=lambda page: page.route(
        "**/requests", lambda route: route.fulfill(json={"requests": [], "rows": [], "engine": engine})))
    expect(page.locator("#m-host-part")).to_have_text("in host memory 30", timeout=PATIENCE_MS)
    expect(page.locator("#m-files-part")).to_have_text("in files 4,000")
    expect(page.get_by_role("img", name="Of 1000 pages of the KV cache 100 are in use, 250 can be found again, "
                                        "30 in host memory, 4000 in files.")).to_be_visible()


def test_what_was_asked_leaves_cached_pages(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "Tell me " + "a long story " * 20)
    expect(page.locator(".meta:not(:empty)")).to_have_count(1, timeout=PATIENCE_MS)
    expect(page.locator("#m-cached")).to_have_text(re.compile("^[1-9]"), timeout=PATIENCE_MS)


def test_markup_stays_text(open_page: OpenPage) -> None:
    markup = '<img src="x" onerror="document.title = \'broken\'"><b>bold</b>'
    page = open_page(prepare=answers(markup))
    ask(page, markup)
    expect(page.locator(".answer")).to_have_text(markup)
    expect(page.locator(".said")).to_contain_text(markup)
    assert page.locator("article :is(img, b)").count() == 0


def test_a_lost_connection_is_told_and_made_again(open_page: OpenPage) -> None:
    sockets: list[WebSocketRoute] = []

    def note(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        sockets.append(socket)

    page = open_page(prepare=lambda page: page.route_web_socket(re.compile("/v1/responses$"), note))
    ask(page, "Who are you?")
    expect(page.locator(".meta:not(:empty)")).to_have_count(1, timeout=PATIENCE_MS)
    sockets[-1].close()
    expect(page.get_by_role("status").first).to_contain_text("connection was lost")
    expect(page.locator("#notice")).to_be_hidden(timeout=PATIENCE_MS)
    ask(page, "What is 1 + 1?")
    expect(page.locator(".meta:not(:empty)")).to_have_count(2, timeout=PATIENCE_MS)
    expect(page.locator(".wrong")).to_have_count(0)


def test_a_key_from_the_settings_goes_along(open_page: OpenPage) -> None:
    shown: list[str | None] = []

    def prepare(page: Page) -> None:
        # What a script may say in a handshake, and what Playwright does not tell.
        page.add_init_script("""
            globalThis.protocols = [];
            globalThis.WebSocket = class extends WebSocket {
                constructor(url, protocols) { super(url, protocols); globalThis.protocols.push(...protocols); }
            };""")
        page.on("request", lambda request: shown.append(request.headers.get("authorization")))

    page = open_page(prepare=prepare)
    assert set(shown) == {None}
    shown.clear()
    set_fields(page, key="sesame")
    expect(page.locator("#notice")).to_be_hidden(timeout=PATIENCE_MS)
    ask(page, "Who are you?")
    expect(page.locator(".meta")).to_contain_text("tokens", timeout=PATIENCE_MS)
    assert page.evaluate("protocols") == ["weft-key.sesame"]
    assert shown[-1] == "Bearer sesame"


def test_a_connection_is_made_once_however_often_it_is_asked_for(open_page: OpenPage) -> None:
    sockets: list[Any] = []
    page = open_page(prepare=lambda page: page.on("websocket", lambda socket: sockets.append(socket)))
    expect(page.locator("#notice")).to_be_hidden(timeout=PATIENCE_MS)
    held: list[Route] = []
    page.route("**/v1/models", lambda route: held.append(route))
    sockets.clear()
    for key in ("one", "two"):
        with page.expect_request("**/v1/models"):
            set_fields(page, key=key)
    for route in held:
        route.continue_()
    expect(page.locator("#notice")).to_be_hidden(timeout=PATIENCE_MS)
    ask(page, "What is 1 + 1?")
    expect(page.locator(".meta")).to_contain_text("tokens", timeout=PATIENCE_MS)
    assert len(sockets) == 1


def test_half_a_character_is_no_obstacle(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_label("Message").evaluate("(field) => { field.value = 'Who are you? \\ud83d'; }")
    page.get_by_label("Message").press("Enter")
    expect(page.locator(".meta")).to_contain_text("tokens", timeout=PATIENCE_MS)


def test_an_error_without_a_stream_ends_the_only_answer(open_page: OpenPage) -> None:
    def refuse(socket: WebSocketRoute) -> None:
        socket.on_message(lambda text: socket.send('{"type":"error","status":400,"error":{"message":"no such thing"}}'))

    page = open_page(prepare=lambda page: page.route_web_socket(re.compile("/v1/responses$"), refuse))
    ask(page, "Hello")
    expect(page.locator(".meta.wrong")).to_contain_text("No such thing.", timeout=PATIENCE_MS)


def test_the_loom_stands_still_when_the_server_says_nothing_of_its_rows(open_page: OpenPage) -> None:
    page = open_page(width=600, prepare=change_requests(ignore_eos="true", max_output_tokens="900"))
    ask(page, "Tell me a story.")
    expect(page.locator("#n-rows")).to_have_text(re.compile("^1 of "), timeout=PATIENCE_MS)
    page.route("**/requests", lambda route: route.fulfill(body="nothing that it knows"))
    expect(page.locator("#n-rows")).to_have_text("–", timeout=PATIENCE_MS)
    expect(page.locator("#bare")).to_be_visible(timeout=PATIENCE_MS)  # the thread has ended, and has gone by
    page.keyboard.press("Escape")
    expect(page.locator(".meta")).to_contain_text("tokens", timeout=PATIENCE_MS)


def test_the_loom_says_that_the_server_is_gone(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.locator("#bare")).to_have_text("Nothing runs. Ask something, or start a load.")
    page.route("**/requests", lambda route: route.fulfill(body="nothing that it knows"))
    expect(page.locator("#bare")).to_contain_text("The server does not answer", timeout=PATIENCE_MS)
    page.unroute("**/requests")
    expect(page.locator("#bare")).to_contain_text("Nothing runs", timeout=PATIENCE_MS)


def tracks_drawn(page: Page) -> tuple[float, float]:
    """Where the first and the last coloured line of the tracks are, as parts of their height."""
    return tuple(page.locator("#tracks").evaluate("""(canvas) => {
        const {width, height} = canvas;
        const points = canvas.getContext('2d').getImageData(0, 0, width, height).data;
        const coloured = (y) => {
            for (let i = y * width * 4; i < (y + 1) * width * 4; i += 4) {
                const [red, green, blue] = points.subarray(i, i + 3);
                if (Math.max(red, green, blue) - Math.min(red, green, blue) > 40) return true;
            }
        };
        const lines = [...Array(height).keys()].filter(coloured);
        return [lines[0] / height, lines.at(-1) / height];
    }"""))


def test_a_row_far_down_is_a_broad_thread_at_the_top(open_page: OpenPage) -> None:
    """The engine gives rows as they come free, and moves them: a thread stays where it began."""
    reading = {"requests": [], "row": 200}

    def read(route: Route) -> None:
        rows: list[Any] = [None] * reading["row"] + [{"request": 1, "phase": "decode"}]
        reading["row"] -= 1
        route.fulfill(json={"requests": [], "rows": rows})

    page = open_page(prepare=lambda page: page.route("**/requests", read))
    eventually(lambda: threads_drawn(page) > 100, "the thread is drawn")
    page.wait_for_timeout(1000)
    first, last = tracks_drawn(page)
    assert first < 0.1 and 0.1 < last < 0.3, "one track of four, whatever its row is called"


def test_a_reload_keeps_the_conversation(open_page: OpenPage) -> None:
    sent: list[str] = []
    page = open_page(prepare=lambda page: page.on(
        "websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(str(frame)))))
    set_fields(page, temperature="0")
    ask(page, "What is 345 + 278?")
    expect(page.locator(".meta")).to_contain_text("tokens", timeout=PATIENCE_MS)
    meta = page.locator(".meta").inner_text()
    page.reload()
    expect(page.locator(".said")).to_contain_text("What is 345 + 278?")
    expect(page.locator(".answer")).to_contain_text("623")
    expect(page.locator(".meta")).to_have_text(meta)
    expect(page.locator("#welcome")).to_be_hidden()
    ask(page, "And what is 1 + 1?")
    expect(page.locator(".meta:not(:empty)")).to_have_count(2, timeout=PATIENCE_MS)
    assert "What is 345 + 278?" in sent[-1], "the server has it no more"
    page.get_by_role("button", name="New chat").click()
    page.reload()
    expect(page.locator("#welcome")).to_be_visible()
    expect(page.locator("article")).to_have_count(0)


def test_a_reload_keeps_what_there_is_of_an_answer(open_page: OpenPage) -> None:
    page = open_page(prepare=change_requests(ignore_eos="true", max_output_tokens="900"))
    ask(page, "Tell me a story.")
    expect(page.locator(".answer p").first).not_to_be_empty(timeout=PATIENCE_MS)
    page.reload()
    expect(page.locator(".answer p").first).not_to_be_empty()
    expect(page.locator(".meta")).to_have_text(re.compile("cut off when the page was left|tokens"))
    expect(page.get_by_role("button", name="Send")).to_be_visible()


@pytest.mark.parametrize("deltas", [["A short answer."], ["A ", "short ", "answer."]])
def test_a_short_answer_has_no_rate(open_page: OpenPage, deltas: list[str]) -> None:
    """Nine tokens that come together were not made in the millisecond in which they were read."""
    page = open_page(prepare=answers(*deltas))
    ask(page, "Hello")
    expect(page.locator(".meta")).to_contain_text("9 tokens", timeout=PATIENCE_MS)
    assert "a second" not in page.locator(".meta").inner_text()


def test_a_rate_is_of_the_time_in_which_a_text_came(open_page: OpenPage) -> None:
    sockets: list[tuple[WebSocketRoute, str]] = []

    def listen(socket: WebSocketRoute) -> None:
        socket.on_message(lambda text: sockets.append((socket, json.loads(text)["stream_id"])))

    page = open_page(prepare=lambda page: page.route_web_socket(re.compile("/v1/responses$"), listen))
    ask(page, "Hello")
    eventually(lambda: page.wait_for_timeout(20) or sockets, "the question has come")
    socket, stream_id = sockets[0]
    pieces, pause_ms = 5, 200
    socket.send(json.dumps({"type": "response.created", "stream_id": stream_id, "response": {"id": "resp_1"}}))
    for piece in range(pieces):
        if piece > 0:
            page.wait_for_timeout(pause_ms)
        socket.send(json.dumps({"type": "response.output_text.delta", "stream_id": stream_id, "delta": "0123456789"}))
    socket.send(json.dumps({"type": "response.completed", "stream_id": stream_id,
                            "response": {"id": "resp_1", "usage": {"output_tokens": 100}}}))
    expect(page.locator(".meta")).to_contain_text("100 tokens", timeout=PATIENCE_MS)
    rate = int(re.search(r"(\d+) a second", page.locator(".meta").inner_text())[1])
    # What came first was there before: four fifths of the tokens in four pauses, or a little longer.
    assert 20 <= rate <= 80 * 1000 // ((pieces - 1) * pause_ms) + 1


def test_the_tracks_show_a_load(open_page: OpenPage) -> None:
    page = open_page()
    assert threads_drawn(page) == 0
    page.get_by_role("button", name="Start a load").click()
    rows = page.locator("#n-rows")
    expect(rows).to_have_text(re.compile(r"^([2-9]|1\d) of "), timeout=PATIENCE_MS)
    expect(page.locator("#bare")).to_be_hidden()
    page.wait_for_timeout(500)  # threads come in from the right as time goes on
    assert threads_drawn(page) > 100
    page.get_by_role("button", name="Stop the load").click()
    expect(page.locator("#load-note")).to_contain_text("requests,", timeout=PATIENCE_MS)
    expect(rows).to_have_text(re.compile(r"^0 of "), timeout=PATIENCE_MS)


def test_rows_and_requests_can_be_joined(open_page: OpenPage, server: Any) -> None:
    page = open_page(prepare=change_requests(ignore_eos="true", max_output_tokens="900"))
    # The page looks itself, from before it asks: the answer may be over before a busy machine looks from outside.
    page.evaluate("""() => {
      window.seen = (async () => {
        for (;;) {
          const now = await (await fetch('/requests')).json();
          const rows = now.rows.filter(Boolean).map((row) => row.request);
          if (rows.length > 0) return [rows, now.requests.map((request) => request.engine_requests)];
        }
      })();
    }""")
    ask(page, "Tell me a story.")
    rows, requests = page.evaluate("() => window.seen")
    assert requests == [rows]
    page.keyboard.press("Escape")


@pytest.mark.parametrize("width", [320, 390, 768, 1920])
def test_nothing_is_wider_than_the_window(open_page: OpenPage, width: int) -> None:
    page = open_page(width=width, height=720)
    ask(page, "Tell me " + "averylongword" * 30)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.get_by_role("button", name=re.compile("^(Send|Stop)$"))).to_be_in_viewport(ratio=1)


def test_everything_that_can_be_operated_has_a_name(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_role("button", name="Settings").click()
    assert page.locator("h1").count() == 1
    nameless = page.evaluate("""() => [...document.querySelectorAll('input, textarea, select, button')]
        .filter((one) => !one.hidden && one.id !== 'notice-button')
        .filter((one) => !(one.labels?.length || one.textContent.trim() || one.ariaLabel))
        .map((one) => one.outerHTML)""")
    assert nameless == []
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_role("log").get_attribute("aria-live") == "polite"


def test_the_keyboard_reaches_the_message_at_once(open_page: OpenPage) -> None:
    page = open_page()
    message = page.get_by_label("Message")
    expect(message).to_be_focused()
    skip = page.get_by_role("link", name="Skip to the message")
    expect(skip).not_to_be_in_viewport()
    skip.focus()
    expect(skip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(message).to_be_focused()
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(message).to_have_value("one\ntwo")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(open_page: OpenPage, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    ask(page, "Who are you?")
    expect(page.locator(".meta:not(:empty)")).to_have_count(1, timeout=PATIENCE_MS)
    contrasts = page.evaluate("""() => {
        const parts = (text) => text.match(/[\\d.]+/g).map(Number);
        const light = ([red, green, blue]) => {
            const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
            return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
        };
        const ground = (one) => {
            for (; one; one = one.parentElement) {
                const colour = parts(getComputedStyle(one).backgroundColor);
                if (colour.length === 3 || colour[3] === 1) return colour;
            }
        };
        const selectors = ['.memory p', '.answer', '.said', '.meta', '.lead', '.numbers dd', '.numbers dt', '#send', '#load', '.keys', '#load-note'];
        return Object.fromEntries(selectors.map((selector) => {
            const one = document.querySelector(selector);
            const lights = [light(parts(getComputedStyle(one).color)), light(ground(one))].sort();
            return [selector, (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05)];
        }));
    }""")
    assert {selector: value for selector, value in contrasts.items() if value < LEAST_CONTRAST} == {}


def test_without_motion_the_tracks_step(open_page: OpenPage) -> None:
    page = open_page(reduced_motion="reduce")
    assert page.locator(".answer").count() == 0
    page.get_by_role("button", name="Start a load").click()
    expect(page.locator("#n-rows")).to_have_text(re.compile(r"^[1-9]\d* of "), timeout=PATIENCE_MS)
    page.wait_for_timeout(2200)  # two steps of a second
    assert threads_drawn(page) > 100
    page.get_by_role("button", name="Stop the load").click()
    expect(page.locator("#load-note")).to_contain_text("requests,", timeout=PATIENCE_MS)
