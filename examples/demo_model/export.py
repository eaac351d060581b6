"""Writes the checkpoint in Hugging Face layout: the weights in bfloat16 and the files that say what they are."""

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from model import Llama
from render import END_OF_TEXT, IM_END


def write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


def export(model: Llama, tokenizer: Tokenizer, folder: Path) -> None:
    weights = {name: tensor.to("cpu", torch.bfloat16).contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    im_end, end_of_text = tokenizer.token_to_id(IM_END), tokenizer.token_to_id(END_OF_TEXT)
    write_json(folder / "config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", **asdict(model.shape),
        "attention_bias": False, "attention_dropout": 0.0, "mlp_bias": False, "hidden_act": "silu",
        "initializer_range": 0.02, "pretraining_tp": 1, "rope_scaling": None, "tie_word_embeddings": True,
        "bos_token_id": end_of_text, "eos_token_id": im_end, "pad_token_id": end_of_text,
        "torch_dtype": "bfloat16", "use_cache": True})
    # Answers are nearly certain at any temperature; sampling is what makes one story differ from the next.
    write_json(folder / "generation_config.json", {
        "bos_token_id": end_of_text, "eos_token_id": [im_end, end_of_text], "pad_token_id": end_of_text,
        "do_sample": True, "temperature": 0.7, "top_p": 0.9})
