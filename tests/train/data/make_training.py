#!/usr/bin/env python3
"""Writes training/: for bases of the model's goldens a small adapter, with the gradients and losses of training it by PEFT.

    python3 -m venv venv
    venv/bin/pip install torch==2.15 transformers==5.23 peft==0.21.2 safetensors
    venv/bin/python tests/train/data/make_training.py tests/train/data/training [CASE ...]

A case is a folder with an adapter as PEFT's save_pretrained() writes it, where training begins; its file base names the folder
of the base below the root of the tree. expected.safetensors has the training: ids_I [T] tokens of sequence I; first_loss [1], the
mean of -log p of all tokens but the first three of sequences 0 and 1; "gradient.TENSOR", the gradient of that loss by a tensor of
the adapter; losses [STEPS], the loss of each step. Step s takes sequences 2s and 2s + 1 of four, in turn. AdamW without decay,
gradients clipped to a norm of 1, warm-up of 10 steps and a cosine behind it. The reference is PEFT's eager code in float32.
"""
import json
import math
import os
import shutil
import sys

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, get_cosine_schedule_with_warmup

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
GOLDENS = "tests/model/data/goldens"
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
STEPS, WARMUP, CLIP = 100, 10, 1.0

# case: (base, LoraConfig's fields, rate)
CASES = {
    "llama": (f"{GOLDENS}/llama", dict(target_modules=ALL), 5e-3),
    "qwen2": (f"{GOLDENS}/qwen2", dict(target_modules=ALL), 5e-3),
    "qwen3": (f"{GOLDENS}/qwen3", dict(target_modules=ALL), 5e-3),
    "gemma2": (f"{GOLDENS}/gemma2", dict(target_modules=ALL), 5e-3),
    "phi": (f"{GOLDENS}/phi", dict(target_modules=["q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2"]), 5e-3),
    "gpt2": (f"{GOLDENS}/gpt2", dict(target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True), 5e-3),
    "phi3": (f"{GOLDENS}/phi3", dict(target_modules=["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]), 5e-3),
    "gpt_neox": (f"{GOLDENS}/gpt_neox", dict(target_modules=["query_key_value", "dense", "dense_h_to_4h"]), 5e-3),
    "demo": ("examples/demo_model/model", dict(target_modules=["q_proj", "v_proj", "down_proj"], r=1), 1e-3),
}


def sequences_of(vocabulary, generator):
    return [torch.randint(3, vocabulary, (length,), generator=generator) for length in (11, 17, 5, 24)]


def loss_of(model, sequences):
    total, count = 0.0, 0
    for ids in sequences:
        logits = model(input_ids=ids[None]).logits[0].float()
        losses = torch.nn.functional.cross_entropy(logits[2:-1], ids[3:], reduction="sum")
        total, count = total + losses, count + len(ids) - 3
    return total / count


def make(folder, name):
    base, fields, rate = CASES[name]
    generator = torch.Generator().manual_seed(sum((i + 1) * ord(c) for i, c in enumerate(name)))
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_pretrained(os.path.join(ROOT, base), dtype=torch.float32, attn_implementation="eager")
    settings = dict(r=2, lora_alpha=3, task_type="CAUSAL_LM")
    settings.update(fields)
    model = get_peft_model(model, LoraConfig(**settings)).eval()
    weights = {key: tensor for key, tensor in model.named_parameters() if tensor.requires_grad}
    with torch.no_grad():  # B of zeros would hide the gradient of A
        for key, tensor in sorted(weights.items()):
            if "lora_B" in key:
                tensor.copy_(0.3 * torch.randn(tensor.shape, generator=generator))
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    settle(folder, base)
    sequences = sequences_of(model.config.vocab_size, generator)
    expected = {f"ids_{i}": ids for i, ids in enumerate(sequences)}
    optimizer = torch.optim.AdamW(weights.values(), lr=rate, weight_decay=0.0)
    schedule = get_cosine_schedule_with_warmup(optimizer, WARMUP, STEPS)
    losses = []
    for step in range(STEPS):
        loss = loss_of(model, [sequences[(2 * step + i) % 4] for i in (0, 1)])
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            expected["first_loss"] = loss.detach().reshape(1)
            for key, tensor in weights.items():
                expected["gradient." + key.replace(".default", "")] = tensor.grad.clone()
        torch.nn.utils.clip_grad_norm_(weights.values(), CLIP)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    expected["losses"] = torch.tensor(losses)
    expected["rate"] = torch.tensor([rate])
    assert math.isfinite(losses[-1]) and losses[-1] < losses[0]
    save_file(expected, f"{folder}/expected.safetensors")


def settle(folder, base):
    """Leaves out what is no part of the adapter, and puts the base's name instead of a path."""
    if os.path.exists(f"{folder}/README.md"):
        os.remove(f"{folder}/README.md")
    with open(f"{folder}/adapter_config.json") as file:
        config = json.load(file)
    config["base_model_name_or_path"] = base
    config["target_modules"] = sorted(config["target_modules"])
    with open(f"{folder}/adapter_config.json", "w") as file:
        json.dump(config, file, indent=1, sort_keys=True)
        file.write("\n")
    with open(f"{folder}/base", "w") as file:
        file.write(f"{base}\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for case in sys.argv[2:] or CASES:
        make(os.path.join(sys.argv[1], case), case)
        print(case, flush=True)
