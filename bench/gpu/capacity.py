#!/usr/bin/env python3
"""Holds the capacity model of docs/scale.md against loads: tokens a second from bytes, rates and rows.

Of each partition `weft bench step` measures steps of 1 and of 4 times ROWS rows and a prompt; the model gives from these what a
load of ROWS rows makes, and `weft bench engine` plays that load. Rows differ by what is between them, so the load is no step that
was measured. Prints a row for each, with the median and the range over the rounds, and exits 1 where a median is not within 15 %.
Needs a machine on which nothing else runs."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BAR = 0.15


@dataclass(frozen=True)
class Load:
    rows: int
    prompt: int
    output: int

    @property
    def context(self) -> int:
        """Returns the number of tokens that a row attends to in the middle of its output."""
        return self.prompt + self.output // 2


@dataclass(frozen=True)
class Rates:
    """The rates of a model on a partition, from which its speed is computed."""

    weight_bytes: float
    kv_bytes: float  # a token
    seconds_a_byte: float
    seconds_a_row: float
    seconds_a_prompt_token: float

    def step(self, rows: float, context: float) -> float:
        return (self.weight_bytes + rows * context * self.kv_bytes) * self.seconds_a_byte + rows * self.seconds_a_row

    def tokens_per_second(self, load: Load, stages: int) -> float:
        """Each of the stages has a tick of its own at once, with its part of the rows."""
        decoding = load.output * self.step(load.rows / stages, load.context)
        return load.rows * load.output / (decoding + load.rows / stages * load.prompt * self.seconds_a_prompt_token)


def measured(program: str, *arguments: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        command = [program, "bench", *arguments, "--json", str(file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(file.read_text())["data"]


def rates_of(program: str, model: list[str], partition: str, load: Load) -> Rates:
    many = 4 * load.rows
    report = measured(
        program, "step", *model, "--partition", partition, "--batch", f"1,{many}", "--context", str(load.context),
        "--prefill", str(load.prompt), "--repeats", "5",
    )  # fmt: skip
    weights, kv = report["weight_bytes"], report["kv_bytes_per_token"]
    one, others = (cell["seconds"]["median"] for cell in report["decode"])
    # Two equations: rows, and the bytes that go with them, take what a step takes.
    first, last = weights + load.context * kv, weights + many * load.context * kv
    a_byte = (many * one - others) / (many * first - last)
    prompt = report["prefill"][0]["seconds"]["median"] / load.prompt
    # A prompt's own reading of the weights is shared with the rows that decode beside it.
    return Rates(weights, kv, a_byte, one - first * a_byte, max(prompt - weights * a_byte / load.prompt, 0))


def played(program: str, model: list[str], partition: str, load: Load, requests: int) -> float:
    report = measured(
        program, "engine", *model, "--partition", partition, "--arrivals", "at-once", "--requests", str(requests),
        "--input", str(load.prompt), "--output", str(load.output), "--concurrency", str(load.rows),
        "--max-rows", str(load.rows),
    )  # fmt: skip
    return float(report[0]["load"]["tokens_per_second"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/weft"))
    parser.add_argument("--shape", default="llama-110m")
    parser.add_argument("--layers", type=int, help="of the shape; all unless stated")
    parser.add_argument("--partitions", default="cpu;cpu,cpu;cpu | cpu", help="between semicolons")
    parser.add_argument("--rows", default="2,4,8")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    model = ["--shape", options.shape] + (["--layers", str(options.layers)] if options.layers else [])
    print("| partition | rows | prompt, output | model, tokens/s | load, tokens/s | load / model | |\n| --- " + "| --- " * 6 + "|")
    missed = False
    for partition in options.partitions.split(";"):
        stages = partition.count("|") + 1
        for rows in (int(number) for number in options.rows.split(",")):
            load = Load(rows, 32, 64)
            expected, got = [], []
            for _ in range(options.rounds):
                expected.append(rates_of(options.program, model, partition, load).tokens_per_second(load, stages))
                got.append(played(options.program, model, partition, load, 8 * rows))
            ratios = sorted(real / model_says for real, model_says in zip(got, expected, strict=True))
            ratio = statistics.median(ratios)
            missed |= abs(ratio - 1) > BAR
            print(
                f"| `{partition.replace('|', chr(92) + '|')}` | {rows} | {load.prompt}, {load.output} "
                f"| {statistics.median(expected):.0f} | {statistics.median(got):.0f} "
                f"| {ratio:.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}] | {'within' if abs(ratio - 1) <= BAR else 'MISSED'} |",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
