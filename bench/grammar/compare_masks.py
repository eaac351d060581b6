#!/usr/bin/env python3
"""compare_masks.py PROGRAM ENCODER_JSON: masks of JSON schemas beside XGrammar's and llguidance's, in one run.

PROGRAM is weft_mask_bench of a release build; ENCODER_JSON a byte-level vocabulary as GPT-2's ("token": id), such as that of
Llama 3 with 128,000 tokens. The schemas are those of tests/grammar/data/schema_cases.json and larger ones, the documents
valid ones of them, cut into tokens by longest match. Every engine sees the same tokens, compiles each schema anew, and is
asked for the mask before each token. Prints p50 and p99 in microseconds, and ours over theirs. Schemas that an engine
refuses, or documents that it does not take, are counted and left out for that engine. Then how long ours takes at most to
compile or refuse each of the schemas that tests/grammar has as hostile or refused ones. Needs xgrammar and llguidance.
"""

import json
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import llguidance
import llguidance.numpy
import xgrammar

ROOT = pathlib.Path(__file__).resolve().parents[2]


def byte_alphabet() -> dict[str, int]:
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {chr(byte): byte for byte in plain}
    letters.update({chr(256 + i): byte for i, byte in enumerate(b for b in range(256) if b not in plain)})
    return letters


def vocabulary(path: str) -> list[bytes]:
    letters = byte_alphabet()
    ids = json.loads(pathlib.Path(path).read_text("utf-8"))
    tokens = [b""] * (max(ids.values()) + 1)
    for text, number in ids.items():
        if all(letter in letters for letter in text):
            tokens[number] = bytes(letters[letter] for letter in text)
    return tokens


def cutter(tokens: list[bytes]):
    ids = {token: i for i, token in reversed(list(enumerate(tokens))) if token}
    longest = 24

    def cut(text: str) -> list[int]:
        data, out = text.encode(), []
        while data:
            size = next(n for n in range(min(longest, len(data)), 0, -1) if data[:n] in ids)
            out.append(ids[data[:size]])
            data = data[size:]
        return out

    return cut


def larger_cases() -> list[dict]:
    """Returns typical schemas of applications: tool calls, records with many texts, lists of records."""
    cases = []
    for i in range(40):
        names = [f"field_{i}_{k}" for k in range(4 + i % 9)]
        kinds = [{"type": "string"}, {"type": "integer", "minimum": 0, "maximum": 10 ** (1 + i % 5)}, {"type": "number"},
                 {"enum": [f"choice {k}" for k in range(3 + i % 7)]}, {"type": "boolean"},
                 {"type": "string", "maxLength": 20 + i}, {"type": "array", "items": {"type": "string"}, "maxItems": 4}]
        values = ["A text of some words, as models write it.", 7, 1.25, "choice 2", True, "a shorter text", ["x", "some item"]]
        pick = [(i + k) % len(kinds) for k in range(len(names))]
        record = {"type": "object", "properties": {n: kinds[p] for n, p in zip(names, pick)}, "required": names,
                  "additionalProperties": False}
        value = {n: values[p] for n, p in zip(names, pick)}
        if i % 3 == 0:
            record, value = {"type": "array", "items": record, "maxItems": 5}, [value, value]
        cases.append({"schema": record, "accept": [json.dumps(value), json.dumps(value, indent=2)]})
    return cases


def hostile_schemas(refused: list) -> list[str]:
    """As JsonSchemaTest.EndsSoonWhateverASchemaAsksFor has them, and those that are refused."""
    doubling: dict = {"d0": {"type": "null"}}
    for i in range(1, 60):
        before = {"$ref": f"#/$defs/d{i - 1}"}
        doubling[f"d{i}"] = {"anyOf": [{**before, "minimum": i}, {**before, "maximum": i}]}
    names = {f"p{i}": True for i in range(20_000)}
    pattern = {"type": "string", "pattern": "^(a|b)*a(a|b){8}$", "maxLength": 1}
    schemas = [
        {"allOf": [{"properties": names}, {"additionalProperties": {"enum": [1] * 20_000 + [2]}}]},
        {"properties": {f"p{i}": pattern for i in range(5000)}},
        {"pattern": "a" * (1 << 20)},
        {"$defs": doubling, "$ref": "#/$defs/d59"},
        {"allOf": [{"anyOf": [{"minLength": 1}, {"minimum": 2}, {"minItems": 3}]}] * 20},
        {"pattern": "((((a{0,1000}){0,1000}){0,1000}){0,1000})"},
        {"pattern": "(((((a*)*)*)*)*)b", "maxLength": 1_000_000},
        {"enum": [[1]] * 30_000 + [1]},
        *refused,
    ]
    texts = ['{"type":"array","items":' * 5000 + "{}" + "}" * 5000, " " * (2 << 20) + "{}",
             '{"properties":{"a":' + '{"anyOf":[{"type":"null"},' * 50 + "{}" + "]}" * 50 + "}}"]
    return [json.dumps(schema) for schema in schemas] + texts


def print_hostile(program: str, vocabulary_file: pathlib.Path, refused: list) -> None:
    cases_file = vocabulary_file.with_name("hostile.json")
    schemas = hostile_schemas(refused)
    cases_file.write_text(json.dumps([{"schema": schema, "ids": []} for schema in schemas]))
    out = json.loads(subprocess.run([program, vocabulary_file, cases_file], check=True, capture_output=True).stdout)
    for what in ("compile", "refuse"):
        print(f"hostile, {what}: {len(out[what])} schemas, at most {max(out[what]) / 1e6:.1f} ms")


def quantiles(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


def run_xgrammar(cases: list[dict], tokens: list[bytes]) -> dict:
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=[0])
    mask = xgrammar.allocate_token_bitmask(1, len(tokens))
    out: dict = {"compile": [], "mask": [], "refused": 0}
    compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
    for case in cases:
        try:
            began = time.perf_counter_ns()
            grammar = compiler.compile_json_schema(json.dumps(case["schema"]), any_whitespace=True, strict_mode=True)
            out["compile"].append(time.perf_counter_ns() - began)
        except Exception:
            out["refused"] += 1
            continue
        for ids in case["ids"]:
            matcher = xgrammar.GrammarMatcher(grammar, override_stop_tokens=[0])
            for token in ids:
                began = time.perf_counter_ns()
                matcher.fill_next_token_bitmask(mask)
                out["mask"].append(time.perf_counter_ns() - began)
                if not matcher.accept_token(token):
                    out["refused"] += 1
                    break
    return out


class Wrapped:
    """The interface of a tokenizer that llguidance requires."""

    def __init__(self, tokens: list[bytes], cut):
        self.tokens, self.cut = tokens, cut
        self.eos_token_id, self.bos_token_id, self.special_token_ids = 0, None, [0]

    def __call__(self, text):
        return self.cut(text if isinstance(text, str) else text.decode("utf-8", "replace"))


def run_llguidance(cases: list[dict], tokens: list[bytes], cut) -> dict:
    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Wrapped(tokens, cut)), n_vocab=len(tokens))
    mask = llguidance.numpy.allocate_token_bitmask(1, len(tokens))
    out: dict = {"compile": [], "mask": [], "refused": 0}
    for case in cases:
        began = time.perf_counter_ns()
        grammar = llguidance.LLMatcher.grammar_from_json_schema(case["schema"])
        matcher = llguidance.LLMatcher(tokenizer, grammar)
        if matcher.is_error():
            out["refused"] += 1
            continue
        out["compile"].append(time.perf_counter_ns() - began)
        for ids in case["ids"]:
            matcher.reset()
            for token in ids:
                began = time.perf_counter_ns()
                llguidance.numpy.fill_next_token_bitmask(matcher, mask, 0)
                out["mask"].append(time.perf_counter_ns() - began)
                if not matcher.consume_token(token):
                    out["refused"] += 1
                    break
    return out


def main() -> None:
    program, encoder = sys.argv[1:3]
    tokens = vocabulary(encoder)
    cut = cutter(tokens)
    written = json.loads((ROOT / "tests/grammar/data/schema_cases.json").read_text("utf-8"))
    data, refused = written["cases"], written["refused"]
    cases = [{"schema": c["schema"], "ids": [cut(text) for text in c["accept"] if text]} for c in data + larger_cases()
             if isinstance(c["schema"], dict) and c["accept"]]
    with tempfile.TemporaryDirectory() as folder:
        vocabulary_file, cases_file = pathlib.Path(folder, "vocabulary"), pathlib.Path(folder, "cases.json")
        vocabulary_file.write_bytes(b"".join(struct.pack("<I", len(token)) + token for token in tokens))
        cases_file.write_text(json.dumps(cases))
        ours = json.loads(subprocess.run([program, vocabulary_file, cases_file], check=True, capture_output=True).stdout)
        engines = {"weft": ours, "xgrammar": run_xgrammar(cases, tokens), "llguidance": run_llguidance(cases, tokens, cut)}
        print_hostile(program, vocabulary_file, refused)
        again = json.loads(subprocess.run([program, vocabulary_file, cases_file], check=True, capture_output=True).stdout)
    print(f"{len(tokens)} tokens, {len(cases)} schemas, {sum(len(i) for c in cases for i in c['ids'])} steps;",
          f"the vocabulary's trie: {ours['trie'] / 1e6:.0f} ms")
    for what in ("compile", "mask"):
        mine = quantiles(ours[what])
        spread = quantiles(again[what])
        print(f"{what}, us (weft's second run: p50 {spread[0] / 1e3:.2f}, p99 {spread[1] / 1e3:.2f})")
        for name, result in engines.items():
            refused = result["refused"] if isinstance(result["refused"], int) else len(result["refused"])
            p50, p99 = quantiles(result[what])
            print(f"  {name:12} p50 {p50 / 1e3:9.2f}  p99 {p99 / 1e3:9.2f}  mean {statistics.mean(result[what]) / 1e3:9.2f}"
                  f"  ours/theirs {mine[0] / p50:6.2f} {mine[1] / p99:6.2f}  refused {refused}")


if __name__ == "__main__":
    main()
