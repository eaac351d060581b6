#!/usr/bin/env python3
"""Times Hugging Face transformers and Weft on the same GPU, in turn. Usage:
transformers_peer.py FOLDER_OF_BENCHES [--rounds N]

A Llama-2-7B of random weights decodes at a context of 1024: transformers with a static cache and torch.compile, as CUDA
graphs; Weft by weft_step_cuda_bench, which chooses tokens too, where transformers only takes the best. Then 32 requests
at once: transformers' continuous batching against weft_engine_cuda_bench. Says how many times as long the peer takes.
"""

import argparse
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

import torch
import transformers

CONTEXT = 1024
ROWS = (1, 32)
STEPS = 40
WARM_UP = 4
CHUNK = 64  # of the prompt at a time
# The requests of weft_engine_cuda_bench.
REQUESTS = 32
PROMPT = 16
OUTPUT = 512


def make_model(device: str) -> transformers.LlamaForCausalLM:
    config = transformers.LlamaConfig(
        hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=32, vocab_size=32000, max_position_embeddings=4096)
    torch.manual_seed(7)
    with torch.device(device):
        previous = torch.get_default_dtype()
        torch.set_default_dtype(torch.bfloat16)
        try:
            return transformers.LlamaForCausalLM(config).eval()
        finally:
            torch.set_default_dtype(previous)


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


@torch.inference_mode()
def compiled_step_seconds(model: transformers.LlamaForCausalLM, rows: int, rounds: int, device: str) -> list[float]:
    torch._dynamo.reset()  # else a second number of rows is compiled for any number
    # Attention reads all of a static cache, however full it is; weft_step_cuda_bench stays at its context likewise.
    filled = (CONTEXT - WARM_UP - STEPS * rounds) // CHUNK * CHUNK
    cache = transformers.StaticCache(config=model.config, max_cache_len=CONTEXT)
    prompt = torch.randint(0, model.config.vocab_size, (rows, CONTEXT), device=device)
    for first in range(0, filled, CHUNK):
        places = torch.arange(first, first + CHUNK, device=device)
        model(prompt[:, first:first + CHUNK], past_key_values=cache, position_ids=places[None].expand(rows, -1),
              logits_to_keep=1)

    def step(token: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        out = model(token, past_key_values=cache, position_ids=place[None].expand(rows, -1))
        return out.logits[:, -1:].argmax(-1)

    compiled = torch.compile(step, mode="reduce-overhead", fullgraph=True)
    token = prompt[:, :1].clone()
    place = torch.tensor([filled], device=device)

    def run(steps: int) -> float:
        nonlocal token
        wait(device)
        began = time.perf_counter()
        for _ in range(steps):
            token = compiled(token, place).clone()
            place.add_(1)
        wait(device)
        return (time.perf_counter() - began) / steps

    run(WARM_UP)  # compiles and records
    return [run(STEPS) for _ in range(rounds)]


def batched_tokens_per_second(model: transformers.LlamaForCausalLM) -> float:
    prompts = torch.randint(3, model.config.vocab_size, (REQUESTS, PROMPT)).tolist()
    options = transformers.GenerationConfig(max_new_tokens=OUTPUT, do_sample=False, eos_token_id=-1, pad_token_id=0)

    def run() -> float:
        began = time.perf_counter()
        answers = model.generate_batch(inputs=prompts, generation_config=options, persistent_manager=True)
        took = time.perf_counter() - began
        tokens = [len(answer.generated_tokens) for answer in answers.values()]
        if tokens != [OUTPUT] * REQUESTS:
            raise RuntimeError(f"continuous batching gave {len(tokens)} answers of {tokens} tokens")
        return REQUESTS * OUTPUT / took

    try:
        run()  # makes the manager, its cache and its graphs
        return run()
    finally:
        model.destroy_cached_continuous_batching_manager()


def output_of(folder: Path, *command: str) -> str:
    # The libraries that were packed are for Weft alone.
    libraries = {"LD_LIBRARY_PATH": f"{folder}/lib:/usr/local/cuda/lib64"}
    return subprocess.run([folder / command[0], *command[1:]], capture_output=True, check=True, text=True,
                          env=os.environ | libraries).stdout


def weft_step_seconds(folder: Path, rounds: int) -> dict[int, float]:
    rows = ",".join(map(str, ROWS))
    text = output_of(folder, "weft_step_cuda_bench", f"rows={rows}", f"context={CONTEXT}", f"pairs={rounds}")
    found = re.findall(r"^ *(\d+) +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+) ", text, re.MULTILINE)
    return {int(count): float(milliseconds) / 1e3 for count, milliseconds in found}


def weft_tokens_per_second(folder: Path) -> float:
    text = output_of(folder, "weft_engine_cuda_bench")
    return REQUESTS * OUTPUT / float(re.search(rf"{REQUESTS} at once: ([\d.]+) s", text)[1])


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--rounds", type=int, default=5)
    wanted = arguments.parse_args()
    most = (CONTEXT // 2 - WARM_UP) // STEPS
    if not 1 <= wanted.rounds <= most:
        arguments.error(f"--rounds {wanted.rounds} is not in 1 .. {most}")

    # Each figure is printed as soon as it is known, so that a run that is cut short has said something.
    print(f"transformers {transformers.__version__}, torch {torch.__version__}", flush=True)
    before = weft_step_seconds(wanted.folder, wanted.rounds)
    ours_at_once = weft_tokens_per_second(wanted.folder)
    model = make_model("cuda")
    theirs = {rows: compiled_step_seconds(model, rows, wanted.rounds, "cuda") for rows in ROWS}
    for rows in ROWS:
        print(f"{rows} rows: compiled {statistics.median(theirs[rows]) * 1e3:.2f} ms a step, Weft "
              f"{before[rows] * 1e3:.2f} before: "
              f"{spread([one / before[rows] for one in theirs[rows]])} times as long", flush=True)
    theirs_at_once = batched_tokens_per_second(model)
    print(f"{REQUESTS} requests at once: continuous batching {theirs_at_once:.0f} tokens/s, Weft {ours_at_once:.0f}: "
          f"{ours_at_once / theirs_at_once:.1f} times as many", flush=True)
    del model
    torch.cuda.empty_cache()
    after = weft_step_seconds(wanted.folder, wanted.rounds)
    for rows in ROWS:
        print(f"{rows} rows: Weft {after[rows] * 1e3:.2f} ms after, {after[rows] / before[rows]:.3f} of before")


if __name__ == "__main__":
    main()
