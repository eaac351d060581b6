#!/usr/bin/env python3
"""Writes adapters/: for bases of goldens/ small random LoRA adapters with what the base computes with them.

    python3 -m venv venv
    venv/bin/pip install torch==2.15 transformers==5.23 peft==0.21.2 safetensors gguf==0.19
    venv/bin/python tests/model/data/make_adapters.py tests/model/data/adapters [CASE ...]

A case is a folder as PEFT's save_pretrained() writes it, whose file base names the folder in goldens/, with
expected.safetensors: prompt_0 [T] token ids, and logits_0 [T, V] of PEFT's eager code in float32, the adapter not merged. Where
base names one of goldens_gguf/, the folder has adapter.gguf, written by llama.cpp's own naming; its logits are those of the
PEFT adapter that it was made of. Every number of an adapter is random, so that none hides.
"""
import json
import os
import shutil
import sys

import gguf
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

V = 24
HERE = os.path.dirname(os.path.abspath(__file__))
QV = ["q_proj", "v_proj"]
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

# case: (base, LoraConfig's fields)
CASES = {
    # Ten families: names that are apart or one matrix, transposed, nested, of experts.
    "llama": ("llama", dict(target_modules=ALL)),
    "qwen2": ("qwen2", dict(target_modules=QV)),
    "gemma3-nested": ("gemma3-nested", dict(target_modules=r".*language_model.*_proj")),
    "gpt2": ("gpt2", dict(target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)),
    "phi3": ("phi3", dict(target_modules=["qkv_proj", "gate_up_proj"])),
    "gpt_neox": ("gpt_neox", dict(target_modules=["query_key_value", "dense_h_to_4h"])),
    "falcon": ("falcon", dict(target_modules=["query_key_value", "dense"])),
    "bloom": ("bloom", dict(target_modules=["query_key_value", "dense_4h_to_h"])),
    "opt": ("opt", dict(target_modules=["k_proj", "fc1", "fc2"])),
    "mpt": ("mpt", dict(target_modules=["Wqkv", "up_proj"])),
    # Keys, each alone.
    "rslora": ("llama", dict(target_modules=QV, use_rslora=True)),
    "patterns": ("llama", dict(target_modules=QV, rank_pattern={"layers.1.self_attn.q_proj": 3, r".*v_proj": 1},
                               alpha_pattern={"^model.layers.0.self_attn.q_proj": 7})),
    "regex": ("llama", dict(target_modules=r".*\.1\..*(q_proj|down_proj)")),
    "all-linear": ("llama", dict(target_modules="all-linear")),
    "excluded": ("llama", dict(target_modules=ALL, exclude_modules=r".*\.0\.mlp\..*")),
    "layers": ("llama", dict(target_modules=QV, layers_to_transform=[1], layers_pattern="layers")),
    "saved": ("llama", dict(target_modules=QV, modules_to_save=["lm_head", "norm"])),
    "tokens": ("llama", dict(target_modules=QV, trainable_token_indices=[3, 9, 4])),
    "tokens-tied": ("gpt2", dict(target_modules=["c_attn"], fan_in_fan_out=True, trainable_token_indices={"wte": [5, 7, 11]})),
    "bias": ("qwen2", dict(target_modules=QV, bias="all")),
    "bias-of-pairs": ("qwen2", dict(target_modules=QV, bias="lora_only")),
    "lora-bias": ("qwen2", dict(target_modules=QV, lora_bias=True)),
    "embedding": ("llama", dict(target_modules=["embed_tokens", "lm_head"])),
    "dora": ("llama", dict(target_modules=ALL, use_dora=True)),
    "dora-transposed": ("gpt2", dict(target_modules=["c_attn", "c_fc"], fan_in_fan_out=True, use_dora=True)),
    "experts-transposed": ("gpt_oss", dict(target_modules=[], target_parameters=["mlp.experts.gate_up_proj",
                                                                                 "mlp.experts.down_proj"])),
    "experts-apart": ("qwen3_moe", dict(target_modules=QV, target_parameters=["mlp.experts.gate_up_proj",
                                                                              "mlp.experts.down_proj"])),
    "zeros": ("llama", dict(target_modules=ALL)),
}


def randomize(model, name, generator):
    """Every number that the adapter trains, and only those."""
    with torch.no_grad():
        for key, tensor in sorted(model.named_parameters()):
            if not tensor.requires_grad:
                continue
            noise = torch.randn(tensor.shape, generator=generator)
            if name == "zeros" and "lora_B" in key:
                noise = torch.zeros_like(noise)
            if "magnitude" in key or "norm" in key:
                tensor.copy_(tensor * (1 + 0.3 * noise))
            elif tensor.dim() == 1:
                tensor.copy_(0.2 * noise)
            else:
                tensor.copy_(0.5 * noise)


def make(folder, name):
    base, fields = CASES[name]
    generator = torch.Generator().manual_seed(sum((i + 1) * ord(c) for i, c in enumerate(name)))
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_pretrained(os.path.join(HERE, "goldens", base), dtype=torch.float32,
                                                 attn_implementation="eager").eval()
    settings = dict(r=2, lora_alpha=3, task_type="CAUSAL_LM")
    settings.update(fields)
    model = get_peft_model(model, LoraConfig(**settings)).eval()
    randomize(model, name, generator)
    prompt = torch.randint(3, V, (9,), generator=generator)
    if "tokens" in name:
        prompt[2] = fields["trainable_token_indices"][1] if name == "tokens" else 7
    with torch.no_grad():
        expected = {"prompt_0": prompt, "logits_0": model(input_ids=prompt[None]).logits[0].contiguous()}
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    settle(folder, base)
    save_file(expected, f"{folder}/expected.safetensors")


def settle(folder, base):
    """Leaves out what is no part of the adapter, and puts the base's name instead of a path."""
    for name in ("README.md",):
        if os.path.exists(f"{folder}/{name}"):
            os.remove(f"{folder}/{name}")
    with open(f"{folder}/adapter_config.json") as file:
        config = json.load(file)
    config["base_model_name_or_path"] = f"goldens/{base}"
    for key in ("target_modules", "exclude_modules", "modules_to_save"):
        if isinstance(config.get(key), list):
            config[key] = sorted(config[key])
    with open(f"{folder}/adapter_config.json", "w") as file:
        json.dump(config, file, indent=1, sort_keys=True)
        file.write("\n")
    with open(f"{folder}/base", "w") as file:
        file.write(f"goldens/{base}\n")


def interleaved(rows, heads):
    """Rows of queries or keys as llama.cpp's converter puts them."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(rows.shape)


def make_gguf(folder, peft, architecture="llama"):
    """The PEFT adapter of a llama as a GGUF file."""
    names = dict(q_proj="attn_q", k_proj="attn_k", v_proj="attn_v", o_proj="attn_output", gate_proj="ffn_gate",
                 up_proj="ffn_up", down_proj="ffn_down")
    with open(f"{peft}/adapter_config.json") as file:
        config = json.load(file)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    writer = gguf.GGUFWriter(f"{folder}/adapter.gguf", architecture)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", config["lora_alpha"])
    for key, tensor in sorted(load_file(f"{peft}/adapter_model.safetensors").items()):
        parts = key.removeprefix("base_model.model.").split(".")
        kind, half = parts[-3], parts[-2]
        if half == "lora_B" and kind in ("q_proj", "k_proj"):
            tensor = interleaved(tensor, 4 if kind == "q_proj" else 2)
        writer.add_tensor(f"blk.{parts[2]}.{names[kind]}.weight.{half.lower()}", tensor.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    shutil.copy(f"{peft}/expected.safetensors", folder)
    with open(f"{folder}/base", "w") as file:
        file.write("goldens_gguf/llama\n")


if __name__ == "__main__":
    root = sys.argv[1]
    torch.set_num_threads(1)
    for case in sys.argv[2:] or [*CASES, "llama-gguf"]:
        if case == "llama-gguf":
            make_gguf(os.path.join(root, case), os.path.join(root, "llama"))
        else:
            make(os.path.join(root, case), case)
        print(case, flush=True)
