"""libweft_c from Python's ctypes, which knows nothing of C++: what works, and that nothing of what is wrong crashes.

Usage: test_weft_c.py LIBRARY MODEL_FOLDER [unittest's arguments]
"""

import ctypes
import json
import os
import sys
import threading
import time
import unittest
from pathlib import Path
from ctypes import POINTER, byref, c_char_p, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

OK, INVALID, OVERLOADED, UNAVAILABLE, FAILED, TIMEOUT, ENDED = range(7)
TEXT, REASONING, CALL_NAME, ARGUMENTS, CALL_END, OUTPUT_END, END = range(7)


class Logprob(ctypes.Structure):
    _fields_ = [("token", c_int32), ("logprob", c_float)]


class Event(ctypes.Structure):
    _fields_ = [
        ("request", c_uint64), ("kind", c_int32), ("output", c_int32), ("text", c_char_p), ("text_bytes", c_size_t),
        ("tokens", POINTER(c_int32)), ("token_count", c_size_t), ("logprobs", POINTER(c_float)),
        ("top", POINTER(Logprob)), ("top_per_token", c_int32), ("prompt_tokens", c_int32), ("output_tokens", c_int32),
        ("cached_tokens", c_int32), ("reasoning_tokens", c_int32), ("finish", c_char_p), ("error", c_char_p),
    ]


class Vector(ctypes.Structure):
    _fields_ = [("numbers", POINTER(c_float)), ("count", c_size_t), ("prompt_tokens", c_int32)]


def load(path: str) -> ctypes.CDLL:
    lib = ctypes.CDLL(path)
    events = [POINTER(POINTER(Event)), POINTER(c_size_t), POINTER(c_void_p)]
    made = [c_char_p, POINTER(c_void_p), POINTER(c_void_p)]
    for name, result, arguments in [
        ("weft_c_abi", c_uint32, []),
        ("weft_version", c_char_p, []),
        ("weft_free", None, [c_void_p]),
        ("weft_stepper_create", c_int32, made),
        ("weft_stepper_free", None, [c_void_p]),
        ("weft_stepper_add", c_int32, [c_void_p, c_char_p, POINTER(c_uint64), POINTER(c_void_p)]),
        ("weft_stepper_cancel", c_int32, [c_void_p, c_uint64]),
        ("weft_stepper_infer", c_int32, [c_void_p, *events]),
        ("weft_stepper_infer_within", c_int32, [c_void_p, c_int64, *events]),
        ("weft_stepper_idle", c_int32, [c_void_p]),
        ("weft_engine_create", c_int32, made),
        ("weft_engine_free", None, [c_void_p]),
        ("weft_engine_open", c_int32, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)]),
        ("weft_stream_next", c_int32, [c_void_p, c_int64, *events]),
        ("weft_stream_cancel", c_int32, [c_void_p]),
        ("weft_stream_free", None, [c_void_p]),
        ("weft_engine_embed", c_int32, [c_void_p, c_char_p, POINTER(POINTER(Vector)), POINTER(c_void_p)]),
        ("weft_vector_free", None, [POINTER(Vector)]),
    ]:
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


LIB = load(sys.argv[1])
MODEL = sys.argv[2]
# A small model of embeddings, with what its reference implementation computes.
EMBEDDER = Path(__file__).resolve().parent.parent / "model" / "data" / "vectors" / "bert-mean"


def config(path: str = MODEL, more: str = "") -> bytes:
    return f'[model]\npath = "{path}"\n[device]\nthreads = 1\n[memory]\nmax_rows = 4\nmax_pages = 256\nmax_context = 1024\n{more}'.encode()


def request(**fields: object) -> bytes:
    return json.dumps({"max_tokens": 6, "temperature": 0, "ignore_eos": True, **fields}).encode()


def text_of(error: c_void_p) -> str:
    text = ctypes.string_at(error).decode() if error else ""
    LIB.weft_free(error)
    return text


class Handle:
    """An object that the library has made; freed at the end of a `with`."""

    def __init__(self, make, free, *arguments: object):
        self.value, error = c_void_p(), c_void_p()
        self.free = free
        self.status = make(*arguments, byref(self.value), byref(error))
        self.error = text_of(error)

    def __enter__(self) -> c_void_p:
        assert self.status == OK, self.error
        return self.value

    def __exit__(self, *_: object) -> None:
        self.free(self.value)


def stepper(text: bytes | None = None) -> Handle:
    return Handle(LIB.weft_stepper_create, LIB.weft_stepper_free, config() if text is None else text)


def engine(text: bytes | None = None) -> Handle:
    return Handle(LIB.weft_engine_create, LIB.weft_engine_free, config() if text is None else text)


def stream(of: c_void_p, body: bytes) -> Handle:
    return Handle(LIB.weft_engine_open, LIB.weft_stream_free, of, body)


def add(to: c_void_p, body: bytes) -> tuple[int, int, str]:
    number, error = c_uint64(), c_void_p()
    status = LIB.weft_stepper_add(to, body, byref(number), byref(error))
    return status, number.value, text_of(error)


def events(call, *arguments: object) -> tuple[int, list[dict]]:
    first, count, error = POINTER(Event)(), c_size_t(), c_void_p()
    status = call(*arguments, byref(first), byref(count), byref(error))
    text_of(error)
    found = []
    for one in first[: count.value]:
        found.append({name: getattr(one, name) for name, _ in Event._fields_})
        found[-1]["tokens"] = one.tokens[: one.token_count]
        found[-1]["logprobs"] = one.logprobs[: one.token_count] if one.logprobs else None
        found[-1]["top"] = [(top.token, top.logprob) for top in one.top[: one.token_count * one.top_per_token]]
    return status, found


def infer_all(of: c_void_p) -> list[dict]:
    found = []
    while not LIB.weft_stepper_idle(of):
        status, more = events(LIB.weft_stepper_infer, of)
        assert status == OK
        found += more
    return found


def read_all(of: c_void_p) -> list[dict]:
    found = []
    while True:
        status, more = events(LIB.weft_stream_next, of, 60_000)
        if status == ENDED:
            return found
        assert status == OK
        found += more


def texts(found: list[dict]) -> str:
    return b"".join(one["text"] for one in found if one["kind"] == TEXT).decode()


class Stepper(unittest.TestCase):
    def test_gives_a_token_of_each_request_in_each_step(self):
        with stepper() as one:
            (_, first, _), (_, second, _) = add(one, request(prompt="Once")), add(one, request(prompt=[5, 6, 7]))
            self.assertEqual({first, second}, {1, 2})
            _, found = events(LIB.weft_stepper_infer, one)
            self.assertEqual([(e["request"], len(e["tokens"])) for e in found], [(first, 1), (second, 1)])
            ends = [e for e in infer_all(one) if e["kind"] == END]
            self.assertEqual([e["finish"] for e in ends], [b"length", b"length"])
            self.assertEqual([e["output_tokens"] for e in ends], [6, 6])
            self.assertEqual(ends[1]["prompt_tokens"], 3)

    def test_takes_the_fields_of_the_http_api(self):
        with stepper() as one:
            add(one, request(prompt="The cat", n=2, seed=1, temperature=1.0, logprobs=2))
            found = infer_all(one)
            self.assertEqual({e["output"] for e in found if e["kind"] == OUTPUT_END}, {0, 1})
            with_tokens = [e for e in found if e["tokens"]]
            self.assertTrue(all(len(e["logprobs"]) == 1 and len(e["top"]) == 2 for e in with_tokens))
            add(one, request(prompt="Yes or no? ", ignore_eos=False, guided_choice=["yes", "no"]))
            self.assertIn(texts(infer_all(one)), ["yes", "no"])
            whole = request(messages=[{"role": "user", "content": "What is 12 + 30?"}])
            self.assertEqual(add(one, whole)[0], OK)
            said = texts(infer_all(one))
            self.assertTrue(said)
            stops = request(messages=[{"role": "user", "content": "What is 12 + 30?"}], stop=[said[2:4]])
            add(one, stops)
            found = infer_all(one)
            self.assertEqual(texts(found), said[:2])
            self.assertEqual([e["text"].decode() for e in found if e["kind"] == OUTPUT_END], [said[2:4]])

    def test_takes_a_budget_for_a_step(self):
        body = request(prompt="One day a little boat " * 20)
        with stepper() as one:
            add(one, body)
            steps, said = 0, ""
            while not LIB.weft_stepper_idle(one):
                _, found = events(LIB.weft_stepper_infer_within, one, 0)
                said += texts(found)
                steps += 1
            self.assertGreater(steps, 8, "the prompt was not cut")
            add(one, body)  # now the KV cache has the prompt
            self.assertEqual(said, texts(infer_all(one)))

    def test_drops_what_is_cancelled(self):
        with stepper() as one:
            _, number, _ = add(one, request(prompt="Once", max_tokens=100))
            events(LIB.weft_stepper_infer, one)
            self.assertEqual(LIB.weft_stepper_cancel(one, number), OK)
            self.assertEqual(LIB.weft_stepper_cancel(one, number), INVALID)
            self.assertEqual(LIB.weft_stepper_cancel(one, 999), INVALID)
            found = infer_all(one)
            self.assertEqual((found[-1]["kind"], found[-1]["finish"]), (END, b"cancelled"))
            self.assertIn(b"cancel", found[-1]["error"])

    def test_refuses_more_than_its_bounds(self):
        with stepper(config(more="[edge]\nmax_queued_requests = 1\n")) as one:
            self.assertEqual(add(one, request(prompt="a"))[0], OK)
            status, number, error = add(one, request(prompt="b"))
            self.assertEqual((status, number), (OVERLOADED, 0))
            self.assertIn("too many requests", error)
            status, _, error = add(one, b'"' + b"a" * (64 << 20) + b'"')
            self.assertEqual(status, INVALID)
            self.assertIn("67108864", error)

    def test_names_what_is_wrong_with_a_request(self):
        with stepper() as one:
            for body, part in [
                (b"", "JSON"), (b"[1]", "object"), (b'{"prompt": "a"', "JSON"), (b"{}", "prompt"), (b"\xff\xfe", ""),
                (b'{"prompt": ["a", "b"]}', "one prompt"), (request(prompt=5), "prompt"),
                (request(prompt="a", temperature="hot"), "temperature"), (request(prompt="a", n=10**9), "n"),
                (request(prompt="a", stop=[""]), "stop[0]"), (request(prompt=[10**6]), "prompt"),
                (request(prompt="a", guided_regex="("), "guided_regex"), (request(messages=[]), "messages"),
                (request(messages=[{"role": 7}]), "messages[0]"), (request(prompt="a", max_tokens=10**6), "context"),
                (request(prompt="a", echo=True), "echo"), (request(prompt="a", prompt_logprobs=1), "prompt_logprobs"),
                (request(prompt="a", model="another"), "another"), (b'{"a":' * 10_000, "JSON"),
            ]:
                with self.subTest(body=body[:60]):
                    status, number, error = add(one, body)
                    self.assertEqual((status, number), (INVALID, 0))
                    self.assertIn(part, error)
            self.assertEqual(LIB.weft_stepper_idle(one), 1)
            add(one, request(prompt="a"))
            self.assertTrue(infer_all(one), "it serves as before")


def embed(of: c_void_p, **fields: object) -> tuple[int, list[float], str]:
    vector, error = POINTER(Vector)(), c_void_p()
    status = LIB.weft_engine_embed(of, json.dumps(fields).encode(), byref(vector), byref(error))
    numbers = vector.contents.numbers[: vector.contents.count] if vector else []
    if vector:
        assert vector.contents.prompt_tokens > 0
    LIB.weft_vector_free(vector)
    return status, numbers, text_of(error)


class Several(unittest.TestCase):
    CONFIG = f"""
[device]
threads = 1
[memory]
max_rows = 4
max_pages = 128
max_context = 256
[[models]]
name = "talker"
path = "{MODEL}"
[[models]]
name = "embedder"
path = "{EMBEDDER}"
memory.max_context = 32
""".encode()

    def test_an_embedding_is_the_reference_implementations(self):
        expected = json.loads((EMBEDDER / "expected.json").read_text())
        with engine(config(str(EMBEDDER)).replace(b"max_context = 1024", b"max_context = 32")) as one:
            for row in expected:
                status, numbers, error = embed(one, input=row["text"], truncate_prompt_tokens=-1)
                self.assertEqual(status, OK, error)
                self.assertEqual(len(numbers), len(row["vector"]))
                self.assertLess(max(abs(a - b) for a, b in zip(numbers, row["vector"])), 1e-4)
            for fields, field in [({}, "input"), ({"input": ["a", "b"]}, "input"), ({"input": "a", "dimensions": 0}, "dim")]:
                status, _, error = embed(one, **fields)
                self.assertEqual(status, INVALID)
                self.assertIn(field, error)
        with engine() as one:  # a model that generates gives its hidden states
            status, numbers, error = embed(one, input="a")
            self.assertEqual(status, OK, error)
            self.assertTrue(numbers)

    def test_requests_say_which_model_they_mean(self):
        body = request(prompt="Once upon a time")
        with engine() as one, stream(one, body) as streamed:
            wanted = texts(read_all(streamed))
        with engine(self.CONFIG) as one:
            for name in ({}, {"model": "talker"}):
                with stream(one, request(prompt="Once upon a time", **name)) as streamed:
                    self.assertEqual(texts(read_all(streamed)), wanted)
            status, numbers, error = embed(one, input="a", model="embedder")
            self.assertEqual(status, OK, error)
            self.assertTrue(numbers)
            nobody = stream(one, request(prompt="a", model="nobody"))
            self.assertEqual(nobody.status, INVALID)
            self.assertIn("nobody", nobody.error)


class Engine(unittest.TestCase):
    def test_streams_what_a_stepper_gives(self):
        body = request(prompt="One day a little boat", max_tokens=12)
        with stepper() as one:
            add(one, body)
            stepped = infer_all(one)
        with engine() as one, stream(one, body) as streamed:
            found = read_all(streamed)
        tokens = [token for e in found for token in e["tokens"]]
        self.assertEqual(tokens, [token for e in stepped for token in e["tokens"]])
        self.assertEqual(texts(found), texts(stepped))
        self.assertEqual([e["kind"] for e in found[-2:]], [OUTPUT_END, END])
        self.assertEqual(found[-1]["output_tokens"], 12)

    def test_cancels_from_another_thread(self):
        with engine() as one, stream(one, request(prompt="Once", max_tokens=1000)) as streamed:
            events(LIB.weft_stream_next, streamed, -1)
            timer = threading.Timer(0.01, LIB.weft_stream_cancel, [streamed])
            timer.start()
            found = read_all(streamed)
            timer.join()
            self.assertEqual((found[-1]["kind"], found[-1]["finish"]), (END, b"cancelled"))
            self.assertEqual(events(LIB.weft_stream_next, streamed, 0)[0], ENDED)

    def test_waits_no_longer_than_it_is_told(self):
        with engine(config(more='[scheduling]\npolicy = "window:60000"\n')) as one:
            with stream(one, request(prompt="Once")) as streamed:
                began = time.monotonic()
                self.assertEqual(events(LIB.weft_stream_next, streamed, 20), (TIMEOUT, []))
                self.assertLess(time.monotonic() - began, 30)
                LIB.weft_stream_cancel(streamed)
                self.assertEqual(read_all(streamed)[-1]["finish"], b"cancelled")

    def test_ends_its_streams_with_itself(self):
        one = engine()
        streamed = stream(one.value, request(prompt="Once", max_tokens=1000))
        LIB.weft_engine_free(one.value)
        with streamed as left:
            self.assertIn(read_all(left)[-1]["finish"], [b"error", b"cancelled"])

    def test_leaves_streams_unread(self):
        with engine() as one:
            for _ in range(20):
                with stream(one, request(prompt="Once", max_tokens=50)):
                    pass

    def test_names_what_is_wrong_with_a_request(self):
        with engine() as one:
            for body in [b"", b"{}", request(prompt="a", temperature=-1), request(prompt="a", max_tokens=10**6)]:
                bad = stream(one, body)
                self.assertEqual((bad.status, bad.value.value), (INVALID, None))
                self.assertTrue(bad.error)


class Wrong(unittest.TestCase):
    def test_a_configuration_is_refused_by_its_key_or_file(self):
        for make in (stepper, engine):
            for text, part in [
                (b"", ""), (b"[model", "config"), (b"[model]\npath = 5\n", "path"), (config("/nowhere/at all"), "nowhere"),
                (config(os.path.dirname(__file__)), ""), (config(more="[devices]\n"), "devices"),
            ]:
                with self.subTest(text=text):
                    bad = make(text)
                    self.assertEqual((bad.status, bad.value.value), (INVALID, None))
                    self.assertIn(part, bad.error)
        bad = stepper(config().replace(b"threads = 1", b'replicas = "2"'))
        self.assertEqual(bad.status, INVALID)
        self.assertIn("device.replicas", bad.error)

    def test_null_is_refused_everywhere(self):
        number, handle, error = c_uint64(), c_void_p(), c_void_p()
        first, count = POINTER(Event)(), c_size_t()
        text = config()
        for make in (LIB.weft_stepper_create, LIB.weft_engine_create):
            self.assertEqual(make(None, byref(handle), byref(error)), INVALID)
            self.assertIn("NULL", text_of(error))
            self.assertEqual(make(text, None, None), INVALID)
        self.assertEqual(LIB.weft_stepper_add(None, b"{}", byref(number), None), INVALID)
        self.assertEqual(LIB.weft_stepper_infer(None, byref(first), byref(count), None), INVALID)
        self.assertEqual(LIB.weft_stepper_cancel(None, 1), INVALID)
        self.assertEqual(LIB.weft_stepper_idle(None), 1)
        self.assertEqual(LIB.weft_engine_open(None, b"{}", byref(handle), None), INVALID)
        self.assertEqual(LIB.weft_stream_next(None, 0, byref(first), byref(count), None), INVALID)
        self.assertEqual(LIB.weft_stream_cancel(None), INVALID)
        vector = POINTER(Vector)()
        self.assertEqual(LIB.weft_engine_embed(None, b"{}", byref(vector), None), INVALID)
        self.assertEqual(LIB.weft_stepper_infer_within(None, 1, byref(first), byref(count), None), INVALID)
        LIB.weft_vector_free(None)
        for free in (LIB.weft_stepper_free, LIB.weft_engine_free, LIB.weft_stream_free, LIB.weft_free):
            free(None)
        with stepper() as one:
            self.assertEqual(LIB.weft_stepper_add(one, None, byref(number), None), INVALID)
            self.assertEqual(LIB.weft_stepper_add(one, b"{}", None, None), INVALID)
            self.assertEqual(LIB.weft_stepper_infer(one, None, None, None), INVALID)

    def test_says_which_interface_it_has(self):
        self.assertEqual(LIB.weft_c_abi(), 1)
        self.assertRegex(LIB.weft_version().decode(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
