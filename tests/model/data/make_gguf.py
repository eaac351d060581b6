#!/usr/bin/env python3
"""Writes goldens_gguf/: for each model family that llama.cpp knows a very small random GGUF file with what it should compute.

    python3 -m venv venv && venv/bin/pip install torch==2.15 transformers==5.23 safetensors
    venv/bin/pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36     # unpack it
    venv/bin/python tests/model/data/make_gguf.py SOURCES/vendor/llama.cpp tests/model/data/goldens_gguf [CASE ...]

A case is a folder with model.gguf, which llama.cpp's own converter makes of a checkpoint of make_goldens.py, and the
expected.safetensors of that checkpoint: so the reference is transformers, and names, metadata and permutations are
llama.cpp's. Matrices are f16, vectors f32. There is no tokenizer.
"""
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

import make_goldens
from make_goldens import D, H, P, rope

SIX = ["sliding_attention"] * 5 + ["full_attention"]
FOUR = dict(num_hidden_layers=4, layer_types=["sliding_attention"] * 3 + ["full_attention"])

# case: what differs from the case of make_goldens.py with that name: fields that a file cannot state, and the windows'
# pattern, which llama.cpp knows by the family.
CASES = {
    "afmoe": dict(**FOUR, num_dense_layers=1, num_shared_experts=1),
    "apertus": {},
    "arcee": {},
    "baichuan": {},
    "bert": {},
    "bloom": {},
    "chatglm": dict(kv_channels=4),
    "cohere": {},
    "cohere2": dict(**FOUR, head_dim=D),
    "cohere2_moe": dict(head_dim=D),
    "dbrx": {},
    "deepseek": {},
    "dots1": dict(sliding_window=None, layer_types=["full_attention"] * 2),
    "ernie4_5": {},
    "ernie4_5_moe": dict(moe_num_shared_experts=2),
    "exaone4": {},
    "exaone_moe": dict(mlp_layer_types=["dense", "sparse"], first_k_dense_replace=1),
    "falcon": dict(num_kv_heads=1, ffn_hidden_size=None),
    "falcon-groups": {},
    "gemma": {},
    "gemma2": dict(query_pre_attn_scalar=D),
    "gemma3": dict(query_pre_attn_scalar=D, num_hidden_layers=6, layer_types=SIX),
    "gemma4": {},
    "gemma4-e": {},
    "gemma4-moe": {},
    "glm": dict(hidden_size=H),
    "glm4": dict(hidden_size=H),
    "glm4_moe": dict(hidden_size=H, num_nextn_predict_layers=0),
    "gpt2": {},
    "gpt_bigcode": {},
    "gpt_neox": {},
    "gpt_neox-sequential": {},
    "gpt_oss": {},
    "granite": {},
    "granite_swa": dict(layer_rope_theta=None),
    "granitemoe": {},
    "granitemoe-dense": dict(num_experts_per_tok=0),
    "granitemoe_swa": dict(layer_rope_theta=None),
    "granitemoeshared": {},
    "hunyuan": {},
    "hunyuan_moe": {},
    "hy_v3": dict(mlp_layer_types=["dense", "sparse"], first_k_dense_replace=1),
    "internlm2": {},
    "jais2": {},
    "laguna": dict(num_hidden_layers=4, layer_types=["full_attention"] + ["sliding_attention"] * 3,
                   num_attention_heads_per_layer=[4, 6, 4, 4], mlp_layer_types=["dense"] + ["sparse"] * 3,
                   moe_router_logit_softcapping=0.0),
    "llama": {},
    "llama-biases-fused": {},
    "llama-biases": {},
    "llama-llama3": {},
    "llama-yarn": {},
    "mellum": dict(mlp_layer_types=["sparse", "sparse"]),
    "minimax_m2": {},
    "minicpm": {},
    "ministral3": dict(hidden_size=H, rope_parameters=rope(
        "yarn", factor=4.0, original_max_position_embeddings=5, llama_4_scaling_beta=0.5, mscale=1.0,
        mscale_all_dim=1.0)),
    "mixtral": {},
    "mpt": {},
    "nemotron": dict(hidden_size=H),
    "olmo": {},
    "olmo2": {},
    "olmo3": FOUR,
    "olmoe": {},
    "orion": {},
    "phi": dict(qk_layernorm=False),
    "phi-tied": {},
    "phi3": {},
    "phi3-longrope": {},
    "phimoe": dict(router_jitter_noise=0.01, rope_parameters=rope("default", original_max_position_embeddings=P)),
    "qwen2": {},
    "qwen2_5_vl": {},
    "qwen2_moe": dict(mlp_only_layers=[]),
    "qwen3": {},
    "qwen3_vl": {},
    "qwen3_moe": {},
    "qwen3_vl_moe": {},
    "roberta": {},
    "seed_oss": {},
    "smollm3": dict(num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0]),
    "solar_open": {},
    "stablelm": dict(qk_layernorm=False),
    "stablelm-parallel": {},
    "starcoder2": dict(sliding_window=None),
    "t5": dict(relative_attention_max_distance=128),
    "umt5": dict(relative_attention_max_distance=128),
    "xverse": {},
}

# With queries, keys and values in one tensor, an option of the converter.
FUSED = "-fused"

# As the configs of published checkpoints state it, where transformers 5 states it otherwise.
PUBLISHED = {
    "afmoe": dict(route_norm=True),
    "bloom": dict(seq_length=P),
    "cohere2": dict(rotary_pct=1.0),
    "dots1": dict(scoring_func="sigmoid"),
    "exaone_moe": dict(scoring_func="sigmoid"),
    "glm": dict(seq_length=P),
    "gpt2": dict(n_ctx=P),
    "gpt_neox": dict(rotary_pct=0.5),
    "gpt_neox-sequential": dict(rotary_pct=0.5),
    "granitemoe-dense": dict(layer_types=["attention"] * 2),
    "hunyuan_moe": dict(moe_intermediate_size=[8, 8], num_shared_expert=[1, 1], moe_topk=[2, 2]),
    "minimax_m2": dict(scoring_func="sigmoid"),
    "mpt": dict(architectures=["MPTForCausalLM"]),
    "solar_open": dict(partial_rotary_factor=1.0),
    "phimoe": dict(architectures=["PhiMoEForCausalLM"]),
}


def use_converter(sources):
    """Finds llama.cpp's converter in its sources."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.path[1:1] = [sources, f"{sources}/gguf-py"]


def without_tokenizer(writer, name):
    writer.add_tokenizer_model("none")


def repair(converter):
    """Baichuan's converter calls itself for each tensor but one kind."""
    own = converter.modify_tensors

    def modify(self, tensor, name, layer):
        inherited = super(converter, self).modify_tensors
        return own(self, tensor, name, layer) if "W_pack" in name else inherited(tensor, name, layer)
    converter.modify_tensors = modify


def convert(folder, name, out, file_type="MOSTLY_F16", set_vocab=without_tokenizer):
    """Makes the GGUF file of a checkpoint whose tokenizer is what `set_vocab` writes."""
    import gguf
    from conversion import get_model_class
    from conversion.base import ModelBase
    # Gemma 3's tables are cut to as many rows as the tokenizer has entries.
    fields = {**ModelBase.load_hparams(Path(folder), False), **PUBLISHED.get(name, {})}
    rows = fields.get("vocab_size", 0)
    with open(f"{folder}/tokenizer.json", "w") as file:
        json.dump(dict(model=dict(vocab={str(i): i for i in range(rows)}), added_tokens=[]), file)
    converter = get_model_class(fields["architectures"][0])
    if name == "baichuan":
        repair(converter)
    for each in (converter, getattr(converter, "Ministral3Model", converter)):
        each.set_vocab = lambda self: set_vocab(self.gguf_writer, name)
    with torch.inference_mode():
        converter(Path(folder), gguf.LlamaFileType[file_type], Path(out), eager=True, hparams=fields,
                  fuse_qkv=name.endswith(FUSED)).write()


def fields_of(name):
    kind, model_type, fields = make_goldens.CASES[name.removesuffix(FUSED)]
    fields = {**fields, **CASES[name]}
    # Null is the default of all fields but one.
    return kind, model_type, {k: v for k, v in fields.items() if v is not None or k == "sliding_window"}


def make_checkpoint(folder, name, case):
    """Writes the checkpoint of a case of make_goldens.py in float32, as converters compute in the type that they find."""
    make_goldens.CASES[name] = case
    make_goldens.make(folder, name)
    weights = f"{folder}/model.safetensors"
    save_file({n: t.float() for n, t in load_file(weights).items()}, weights)


def make(folder, name):
    with tempfile.TemporaryDirectory() as checkpoint:
        make_checkpoint(checkpoint, name, fields_of(name))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        shutil.copy(f"{checkpoint}/expected.safetensors", folder)
        convert(checkpoint, name, f"{folder}/model.gguf")


if __name__ == "__main__":
    use_converter(sys.argv[1])
    torch.set_num_threads(1)
    for case in sys.argv[3:] or CASES:
        make(os.path.join(sys.argv[2], case), case)
        print(case, flush=True)
