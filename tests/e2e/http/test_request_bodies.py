"""Bodies that asked for harm elsewhere: each is refused, or is done in time. The numbers are those of docs/bad-inputs.md."""

import json
import socket
from typing import Any

import pytest

from prompts import QUESTION
from raw_http import RawClient

CHAT, COMPLETION, RESPONSE, TOKENIZE = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/tokenize"
NEEDED: dict[str, dict[str, Any]] = {CHAT: {"messages": QUESTION}, COMPLETION: {"prompt": "Once"},
                                     RESPONSE: {"input": "Once"}}


def expect_400(raw: RawClient, path: str, body: Any, *codes: str) -> dict[str, Any]:
    answer = raw.post(path, body).read()
    error = answer.error()
    assert (answer.status, set(error)) == (400, {"message", "type", "param", "code"}), answer
    assert error["type"] == "invalid_request_error" and error["code"] in codes, error
    assert raw.send_request("GET", "/live").read().status == 200, "the connection goes on"
    return error


@pytest.mark.parametrize("path", NEEDED)
@pytest.mark.parametrize("depth, code", [(65, "invalid_json"), (100_000, "invalid_json")])
@pytest.mark.parametrize("nest", [b"[", b'{"a":'], ids=["arrays", "objects"])
def test_j1_nesting_is_400(raw: RawClient, path: str, depth: int, code: str, nest: bytes):
    body = b'{"metadata":' + nest * depth + b"1" + (b"]" if nest == b"[" else b"}") * depth + b"}"
    for sent in (body, body[:len(body) // 2]):
        answer = raw.send_request("POST", path, body=sent).read()
        assert (answer.status, answer.error()["code"]) == (400, code)


@pytest.mark.parametrize("path", NEEDED)
@pytest.mark.parametrize("body", [[1], 5, "text", None, True, [], {}, {"model": 5}, {"messages": None, "prompt": None, "input": None}],
                         ids=json.dumps)
def test_j2_a_body_without_what_it_needs_is_400(raw: RawClient, path: str, body: Any):
    expect_400(raw, path, body, "invalid_type", "missing_required_parameter")


@pytest.mark.parametrize("messages", [
    [None], [5], ["text"], [[]], [{}], [{"role": "user"}], [{"role": "user", "content": None}], [{"content": "x"}],
    [{"role": "user", "content": 5}], [{"role": "user", "content": [5]}], [{"role": "user", "content": []}],
    [{"role": "user", "content": [{"type": "text"}]}], [{"role": 5, "content": "x"}], [{"role": "", "content": "x"}],
    [{"role": "nobody", "content": "x"}]], ids=json.dumps)
def test_j2_a_message_that_is_none_is_400_and_named(raw: RawClient, messages: list[Any]):
    codes = ("invalid_type", "missing_required_parameter", "invalid_value")
    for path, field in ((CHAT, "messages"), (RESPONSE, "input")):
        assert expect_400(raw, path, {field: messages}, *codes)["param"].startswith(f"{field}[0]")


@pytest.mark.parametrize("path, field", [(COMPLETION, "prompt"), (RESPONSE, "input")])
def test_j3_a_body_full_of_newlines_is_more_than_the_context(raw: RawClient, path: str, field: str):
    text = "x" + "\n" * (3 << 20) + "x"  # templates trim the ends, and give 4 MiB at most
    error = expect_400(raw, path, {field: text}, "context_length_exceeded")
    assert "1024" in error["message"]


@pytest.mark.parametrize("path, body", [
    (COMPLETION, {"prompt": []}), (COMPLETION, {"prompt": ""}), (COMPLETION, {"prompt": [[]]}),
    (COMPLETION, {"prompt": ["x", ""]}), (CHAT, {"messages": []}), (RESPONSE, {"input": []}),
    (CHAT, {**NEEDED[CHAT], "stop": [""]})], ids=str)
def test_j4_an_empty_list_is_400(raw: RawClient, path: str, body: Any):
    expect_400(raw, path, body, "invalid_value", "missing_required_parameter")


@pytest.mark.parametrize("kind", ["image_url", "video_url", "input_image", "input_file", "input_audio"])
def test_j6_a_picture_is_400_and_nothing_is_fetched(raw: RawClient, kind: str):
    with socket.create_server(("127.0.0.1", 0)) as bait:
        url = f"http://127.0.0.1:{bait.getsockname()[1]}/picture"
        parts = [{"type": kind, kind: {"url": url}, "file_url": url}] * 1000
        for path, field in ((CHAT, "messages"), (RESPONSE, "input")):
            error = expect_400(raw, path, {field: [{"role": "user", "content": parts}]}, "unsupported", "invalid_value")
            assert kind in error["message"] or "type" in error["param"]
        answer = raw.post(CHAT, {"messages": [{"role": "user", "content": f"![]({url}) {url}"}], "max_tokens": 1}).read()
        assert answer.status == 200, "in a text it is text"
        bait.settimeout(0.2)
        with pytest.raises(TimeoutError):
            bait.accept()


@pytest.mark.parametrize("field", ["prompt_embeds", "multi_modal_data", "image_embeds", "lora_path", "model_path"])
@pytest.mark.parametrize("value", ["gASVBAAAAAAAAABLAS4=", {"data": "UEsDBA=="}], ids=["text", "object"])
def test_j7_a_tensor_in_a_request_is_400(raw: RawClient, field: str, value: Any):
    for path, needed in NEEDED.items():
        assert expect_400(raw, path, {**needed, field: value}, "unknown_parameter")["param"] == field


@pytest.mark.parametrize("kwargs", [{"tokenize": True}, {"messages": []}, {"tools": []}, {"bos_token": "x"},
                                    {"add_generation_prompt": False}, {"chat_template": "{{ 1 }}"}, {"return_dict": 1},
                                    {"__class__": 1}, {"raise_exception": "x"}], ids=str)
def test_j8_variables_that_are_the_servers_are_400(raw: RawClient, kwargs: dict[str, Any]):
    for path in (CHAT, RESPONSE):
        error = expect_400(raw, path, {**NEEDED[path], "chat_template_kwargs": kwargs}, "invalid_value",
                           "unknown_parameter", "unsupported")
        assert error["param"].startswith("chat_template_kwargs")


@pytest.mark.parametrize("template", ["{{ messages }}", "{% for i in range(10**9) %}{% endfor %}", "{{ ''.__class__ }}"])
def test_j8_a_template_in_a_request_is_400(raw: RawClient, template: str):
    expect_400(raw, CHAT, {**NEEDED[CHAT], "chat_template": template}, "unsupported", "unknown_parameter")


@pytest.mark.parametrize("fields", [
    {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"pattern": "("}}}},
    {"response_format": {"type": "x" * 1000}}, {"response_format": 5},
    {"guided_regex": "foo**"}, {"guided_regex": "(?<=a*)b"}, {"guided_json": {"$ref": "#"}}, {"guided_grammar": "root ::= root"},
    {"grammar": "root ::= root"}, {"structured_outputs": {"regex": "("}}], ids=json.dumps)
def test_j9_what_would_guide_the_output_is_400(raw: RawClient, fields: dict[str, Any]):
    for path in (CHAT, COMPLETION):
        expect_400(raw, path, {**NEEDED[path], **fields}, "unsupported", "unknown_parameter", "invalid_type",
                   "invalid_value")
    expect_400(raw, RESPONSE, {**NEEDED[RESPONSE], "text": {"format": fields.get("response_format", fields)}},
               "unsupported", "invalid_type", "missing_required_parameter", "invalid_value", "unknown_parameter")


@pytest.mark.parametrize("path, field, value", [
    (CHAT, "n", 17), (CHAT, "n", 10**9), (CHAT, "n", 2**63), (COMPLETION, "n", 10**9), (COMPLETION, "best_of", 10**9),
    (COMPLETION, "best_of", 17), (COMPLETION, "num_beams", 10**9), (RESPONSE, "n", 2)])
def test_s1_more_outputs_than_may_be_are_400(raw: RawClient, path: str, field: str, value: int):
    assert expect_400(raw, path, {**NEEDED[path], field: value}, "invalid_value", "invalid_type",
                      "unsupported", "unknown_parameter")["param"] == field


def test_s1_prompts_count_with_their_outputs(raw: RawClient):
    expect_400(raw, COMPLETION, {"prompt": ["x"] * 100, "n": 16, "max_tokens": 1}, "invalid_value", "never_fits")
    expect_400(raw, COMPLETION, {"prompt": ["x"] * 100_000, "max_tokens": 1}, "invalid_value", "never_fits")


@pytest.mark.parametrize("field", ["max_tokens", "min_tokens", "n", "repetition_window", "dry_window", "top_logprobs", "logprobs",
                                   "dry_allowed_length", "fsd_max_ngram", "fsd_top_k"])
def test_s2_a_negative_count_is_400(raw: RawClient, field: str):
    for value in (-1, -2**31, -2**63):
        expect_400(raw, COMPLETION, {**NEEDED[COMPLETION], field: value}, "invalid_value", "invalid_type",
                   "unknown_parameter")


@pytest.mark.parametrize("field", ["n_discard", "n_keep", "n_predict", "id_slot", "samplers",
                                   "repeat_penalty", "mirostat", "penalize_nl", "sampler_seq", "temperatur"])
@pytest.mark.parametrize("value", [-1, 10**9, ["tfs_z"], "tfs_z"], ids=str)
def test_s2_s3_s6_fields_of_other_servers_are_400_by_name(raw: RawClient, field: str, value: Any):
    for path, needed in NEEDED.items():
        assert expect_400(raw, path, {**needed, field: value}, "unknown_parameter")["param"] == field


@pytest.mark.parametrize("field, number", [
    ("temperature", "999999"), ("temperature", "-0.1"), ("temperature", "1e999"), ("temperature", "NaN"),
    ("temperature", "-Infinity"), ("top_p", "-1"), ("top_p", "1.0000001"), ("top_p", "1e308"), ("min_p", "-1e-9"),
    ("repetition_penalty", "0"), ("repetition_penalty", "-1"), ("frequency_penalty", "2.1"), ("presence_penalty", "-1e308"),
    ("typical_p", "0"), ("mirostat_tau", "-1"), ("dry_base", "0"), ("top_k", "-2"), ("top_k", "1.5"), ("seed", "1e30")])
def test_s4_a_number_out_of_range_is_400(raw: RawClient, field: str, number: str):
    for path, needed in NEEDED.items():
        body = json.dumps(needed)[:-1] + f',"{field}":{number}}}'
        answer = raw.send_request("POST", path, body=body.encode()).read()
        assert answer.status == 400
        assert answer.error()["code"] in ("invalid_value", "invalid_type", "invalid_json")


def test_s4_numbers_at_the_ends_of_their_ranges_are_taken(raw: RawClient):
    for fields in ({"temperature": 100, "top_p": 0}, {"temperature": 1e-300, "min_p": 1}, {"top_p": 5e-324, "top_k": 2**31 - 1},
                   {"repetition_penalty": 0.01, "frequency_penalty": 2}, {"logit_bias": {"5": -100, "6": 100}},
                   {"typical_p": 1e-9, "mirostat_mode": 2, "mirostat_tau": 0}, {"xtc_probability": 1, "xtc_threshold": 0}):
        answer = raw.post(COMPLETION, {"prompt": "Once", "max_tokens": 8, "ignore_eos": True, **fields}).read()
        assert answer.status == 200, (fields, answer)
        assert answer.json()["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("fields", [{"logit_bias": {"1048576": 1}}, {"logit_bias": {"2147483648": 1}},
                                    {"stop_token_ids": [1048576]}, {"bad_token_ids": [1048576]},
                                    {"allowed_token_ids": [1048576]}], ids=str)
def test_s5_a_token_that_there_is_not_is_400_with_its_id(raw: RawClient, fields: dict[str, Any]):
    for path, needed in NEEDED.items():
        error = expect_400(raw, path, {**needed, **fields}, "invalid_value")
        assert "1048576" in error["message"] or "2147483648" in error["message"]


@pytest.mark.parametrize("fields", [{"logit_bias": {"-1": 1}}, {"logit_bias": {"x": 1}}, {"logit_bias": {"1": 101}},
                                    {"logit_bias": {"1": "1"}}, {"logit_bias": {str(i): 1 for i in range(1025)}},
                                    {"stop_token_ids": [-1]}, {"stop_token_ids": ["1"]}, {"stop_token_ids": [2**63]},
                                    {"stop_token_ids": list(range(129))}, {"prompt": [2**40]}, {"prompt": [-1]}])
def test_s5_what_is_no_token_is_400(raw: RawClient, fields: dict[str, Any]):
    expect_400(raw, COMPLETION, {**NEEDED[COMPLETION], **fields}, "invalid_value", "invalid_type")


@pytest.mark.parametrize("stop", [["x"] * 17, ["x"] * 10_000, [""], "", ["x" * 257], [5], 5, [None], {"a": 1}],
                         ids=lambda stop: str(stop)[:20])
def test_s7_stop_strings_that_are_many_or_empty_or_long_are_400(raw: RawClient, stop: Any):
    for path, needed in NEEDED.items():
        assert expect_400(raw, path, {**needed, "stop": stop}, "invalid_value", "invalid_type")["param"].startswith("stop")


@pytest.mark.parametrize("text", ["A", "\n", " ", "us", "_", "\u6f22", "\u0301", "{\"a\":1,", "aB", "\U0001f468\u200d", "0"],
                         ids=ascii)
def test_t1_t2_a_long_run_of_one_text_is_tokenized_in_time(raw: RawClient, text: str):
    whole = text * ((1 << 18) // len(text.encode()))
    answer = raw.post(TOKENIZE, {"prompt": whole, "add_special_tokens": False}).read()
    assert (answer.status, answer.json()["count"] > 100) == (200, True)
    back = raw.post("/detokenize", {"tokens": answer.json()["tokens"]}).read()
    assert back.json()["prompt"] == whole


@pytest.mark.parametrize("broken", [b"\xc3", b"\xe2\x82", b"\xf0\x9f\xa6", b"\xff", b"\xed\xa0\x80", b"\xc0\xaf"], ids=ascii)
def test_t4_half_a_character_is_400(raw: RawClient, broken: bytes):
    for path, body in ((COMPLETION, b'{"prompt":"a%b"}'), (CHAT, b'{"messages":[{"role":"user","content":"%b"}]}'),
                       (RESPONSE, b'{"input":"%bz"}'), (TOKENIZE, b'{"prompt":"%b"}')):
        answer = raw.send_request("POST", path, body=body % broken).read()
        assert (answer.status, answer.error()["code"]) == (400, "invalid_json")


@pytest.mark.parametrize("escape", [r"\ud800", r"\udc00", r"\ud800\u0041", r"\udc00\ud800", r"\ud83e"])
def test_t4_half_a_pair_of_surrogates_is_400(raw: RawClient, escape: str):
    for path, body in ((COMPLETION, '{"prompt":"%s"}'), (TOKENIZE, '{"prompt":"x%sx"}')):
        answer = raw.send_request("POST", path, body=(body % escape).encode()).read()
        assert (answer.status, answer.error()["code"]) == (400, "invalid_json")
