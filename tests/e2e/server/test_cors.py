"""Pages of other origins: whose browser may show them an answer, and what they may ask for at all.

The numbers in the names of the tests are those of docs/bad-inputs.md.
"""

import pytest

from conftest import StartServer
from raw_http import Answer, RawClient
from raw_websocket import PATH, UPGRADE, key_header

LISTED = "https://app.example"
LIST = f"{LISTED}, http://localhost:3000"


def cors_of(answer: Answer) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control-")}


def preflight(raw: RawClient, origin: str) -> Answer:
    return raw.send_request("OPTIONS", "/v1/chat/completions", f"Origin: {origin}",
                            "Access-Control-Request-Method: POST",
                            "Access-Control-Request-Headers: authorization, content-type").read()


def test_without_a_list_no_origin_may_read(raw: RawClient):
    for answer in (preflight(raw, LISTED), raw.send_request("GET", "/v1/models", f"Origin: {LISTED}").read()):
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("origin", [LISTED, "http://localhost:3000"])
def test_an_origin_of_the_list_may_read(start_server: StartServer, origin: str):
    with RawClient(start_server(server={"cors_origins": LIST}).port) as raw:
        before = preflight(raw, origin)
        assert before.status == 204
        assert before.headers["access-control-allow-origin"] == origin
        assert "POST" in before.headers["access-control-allow-methods"]
        allowed = before.headers["access-control-allow-headers"].lower()
        assert all(name in allowed for name in ("authorization", "content-type", "x-request-id"))
        for request in (("GET", "/v1/models"), ("GET", "/v2"), ("POST", "/v1/chat/completions")):
            answer = raw.send_request(*request, f"Origin: {origin}", "Content-Length: 0").read()
            assert answer.headers["access-control-allow-origin"] == origin, "of an error too: else it is not seen"
            assert answer.headers["vary"] == "Origin"
            assert "X-Request-Id" in answer.headers["access-control-expose-headers"]


def test_a_page_may_send_what_openais_client_says_about_itself(start_server: StartServer):
    with RawClient(start_server(server={"cors_origins": LIST}).port) as raw:
        listed = preflight(raw, LISTED).headers["access-control-allow-headers"].lower().split(", ")
    assert {"x-title", "http-referer", "user-agent", *(f"x-stainless-{name}" for name in (
        "arch", "lang", "os", "package-version", "retry-count", "runtime", "runtime-version", "timeout", "helper-method",
        "async", "read-timeout", "poll-helper", "custom-poll-interval", "raw-response"))} <= set(listed)


@pytest.mark.parametrize("origin", ["https://app.example.evil", "https://app.exampl", "http://app.example",
                                    "https://app.example:444", "null", "HTTPS://APP.EXAMPLE", LIST, "*", ""])
def test_another_origin_may_not(start_server: StartServer, origin: str):
    with RawClient(start_server(server={"cors_origins": LIST}).port) as raw:
        for answer in (preflight(raw, origin), raw.send_request("GET", "/v1/models", f"Origin: {origin}").read()):
            assert "access-control-allow-origin" not in answer.headers


def test_a_star_is_any_origin_but_with_no_cookies(start_server: StartServer):
    with RawClient(start_server(server={"cors_origins": "*"}).port) as raw:
        answer = preflight(raw, "https://anywhere.example")
        assert cors_of(answer)["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers


def test_a_preflight_needs_no_key(start_server: StartServer):
    server = start_server(auth={"api_key": "sesame"}, server={"cors_origins": LIST})
    with RawClient(server.port) as raw:
        assert preflight(raw, LISTED).status == 204
        refused = raw.send_request("GET", "/v1/models", f"Origin: {LISTED}").read()
        assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, LISTED)


def test_a_stream_may_be_read_too(start_server: StartServer):
    with RawClient(start_server(server={"cors_origins": LIST}).port) as raw:
        answer = raw.post("/v1/completions", {"prompt": "Once", "max_tokens": 1, "stream": True},
                          f"Origin: {LISTED}").read()
        assert answer.headers["access-control-allow-origin"] == LISTED


# CORS does not apply to WebSockets: the server itself must check the origin.

@pytest.mark.parametrize("origin", ["http://weft", "https://weft", "http://WEFT"])
def test_the_servers_own_page_may_open_a_websocket(raw: RawClient, origin: str):
    assert raw.send_request("GET", PATH, *UPGRADE, key_header(), f"Origin: {origin}").read_head().status == 101


@pytest.mark.parametrize("origin", [LISTED, "http://weft.example", "null", "file://", "http://"])
def test_a_page_from_elsewhere_may_not_open_a_websocket(raw: RawClient, origin: str):
    answer = raw.send_request("GET", PATH, *UPGRADE, key_header(), f"Origin: {origin}").read()
    assert (answer.status, answer.error()["code"]) == (403, "origin_not_allowed")


@pytest.mark.parametrize("origins, origin, status", [
    (LIST, LISTED, 101), (LIST, "http://localhost:3001", 403), ("*", "https://anywhere.example", 101)])
def test_a_listed_page_may_open_a_websocket(start_server: StartServer, origins: str, origin: str, status: int):
    with RawClient(start_server(server={"cors_origins": origins}).port) as raw:
        answer = raw.send_request("GET", PATH, *UPGRADE, key_header(), f"Origin: {origin}").read_head()
        assert answer.status == status


@pytest.mark.parametrize("headers", [
    ("Origin: http://evil.example",), ("Host: evil.example",), ("Host: evil.example", "Origin: http://evil.example")])
def test_x7_a_page_of_another_site_can_do_nothing(raw: RawClient, headers: tuple[str, ...]):
    code = "host_not_allowed" if headers[0].startswith("Host") else "origin_not_allowed"
    completion = b'{"prompt": "Once", "max_tokens": 1}'
    for method, path, body in (("POST", "/v1/completions", completion), ("GET", "/requests", b""),
                               ("DELETE", "/v1/responses/resp_1", b""), ("POST", "/v1/models/unload", b'{"model": "model"}')):
        answer = raw.send_request(method, path, *headers, "Content-Type: text/plain", body=body).read()
        assert (answer.status, answer.error()["code"]) == (403, code), path
    answer = raw.send_request("GET", PATH, *UPGRADE, key_header(), *headers).read()
    assert (answer.status, answer.error()["code"]) == (403, code)
    assert raw.send_request("GET", "/health", *headers).read().status == 200
