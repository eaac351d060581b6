#!/usr/bin/env python3
"""Times llama.cpp's steps and Weft's on the host, of the same GGUF files, in turn:

    bench/gpu/llama_cpp_steps.py LLAMA_BIN WEFT FILE.gguf... [--threads N] [--rounds N] [--keep ROUNDS.json]

LLAMA_BIN is the folder with llama.cpp's llama-bench and llama-batched-bench. Both sides keep keys and values as f16 and
compute: the next token of one sequence and of 32, whose context begins empty, and a prompt of 512 tokens. Says for each
the tokens a second of both and how many times as many Weft's are: median, quartiles. bench/net/random_gguf.py writes a
file. With --keep the rounds are added to those of earlier calls, so that they can be measured in pieces; no rounds print
what is there.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

TOKENS = 32  # that each sequence is given in one measurement
PROMPT = 512
WORK = ("1 sequence", "32 sequences", f"prompt of {PROMPT}")


def run(command: list[str]) -> str:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(Path(command[0]).parent)}
    return subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout


def llama_cpp(folder: Path, file: str, threads: int, repack: bool) -> dict[str, float]:
    alone = json.loads(run([str(folder / "llama-bench"), "-m", file, "-t", str(threads), "-r", "1", "-p", str(PROMPT),
                            "-n", str(TOKENS), "-o", "json", "--repack", str(int(repack))]))
    together = run([str(folder / "llama-batched-bench"), "-m", file, "-t", str(threads), "-tb", str(threads), "-c",
                    str(32 * 2 * TOKENS), "-npp", "4", "-ntg", str(TOKENS // 4), "-npl", "32", "--output-format",
                    "jsonl", *([] if repack else ["--no-repack"])])
    line = next(json.loads(line) for line in together.splitlines() if line.startswith("{"))
    rate = {(one["n_prompt"] > 0): one["avg_ts"] for one in alone}
    return dict(zip(WORK, (rate[False], line["speed_tg"], rate[True])))


def weft(program: str, file: str, threads: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run([program, "bench", "step", file, "--threads", str(threads), "--batch", "1,32", "--context",
                        str(TOKENS // 2), "--prefill", str(PROMPT), "--repeats", "1", "--kv-dtype", "f16", "--json",
                        str(report)], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        decode, prefill = json.loads(report.read_text())["tables"]
    rates = [float(row[table["columns"].index("tokens/s")].replace(",", "")) for table in (decode, prefill)
             for row in table["rows"]]
    return dict(zip(WORK, rates))


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) < 3:
        return statistics.median(values), min(values), max(values)
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("llama", metavar="LLAMA_BIN", type=Path)
    parser.add_argument("weft", metavar="WEFT")
    parser.add_argument("files", metavar="FILE.gguf", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-repack", action="store_true",
                        help="keep llama.cpp from its repacked and AMX weights, where it crashes with them")
    parser.add_argument("--keep", metavar="ROUNDS.json", type=Path, help="where rounds are kept, by file")
    options = parser.parse_args()
    kept = json.loads(options.keep.read_text()) if options.keep and options.keep.exists() else {}
    print("| file | work | llama.cpp, tokens/s | Weft, tokens/s | Weft over llama.cpp |")
    print("| --- | --- | --- | --- | --- |")
    for file in options.files:
        rounds = kept.setdefault(Path(file).name, [])
        for number in range(len(rounds), len(rounds) + options.rounds):
            both = {}
            order = ("llama", "weft") if number % 2 == 0 else ("weft", "llama")
            for side in order:
                both[side] = (llama_cpp(options.llama, file, options.threads, not options.no_repack) if side == "llama"
                              else weft(options.weft, file, options.threads))
            rounds.append(both)
            if options.keep:
                options.keep.write_text(json.dumps(kept))
        for work in WORK:
            theirs, ours = ([one[side][work] for one in rounds] for side in ("llama", "weft"))
            middle, low, high = quartiles([b / a for a, b in zip(theirs, ours)])
            print(f"| {Path(file).name} | {work} | {statistics.median(theirs):.1f} | {statistics.median(ours):.1f} | "
                  f"{middle:.2f} [{low:.2f}, {high:.2f}] |", flush=True)


if __name__ == "__main__":
    main()
