"""Checkpoints as their authors publish them, made of those that transformers writes.

make_goldens.py computes with a class of transformers that is the same model; here its config and
its tensors get the names and the form of the family's own code.
"""
import json

import torch
from safetensors.torch import load_file, save_file


class Folder:
    """A checkpoint's config and tensors, written back by save()."""

    def __init__(self, path):
        self.path = path
        self.fields = json.load(open(f"{path}/config.json"))
        self.tensors = load_file(f"{path}/model.safetensors")

    def name_as(self, model_type, architecture, **fields):
        self.fields.update(model_type=model_type, architectures=[architecture], **fields)

    def drop(self, *fields):
        for field in fields:
            self.fields.pop(field, None)

    def rename(self, pairs):
        for old, new in pairs:
            self.tensors = {name.replace(old, new): t for name, t in self.tensors.items()}

    def layers(self):
        return range(self.fields["num_hidden_layers"])

    def save(self):
        with open(f"{self.path}/config.json", "w") as file:
            file.write(json.dumps(self.fields, indent=2) + "\n")
        save_file({n: t.contiguous() for n, t in self.tensors.items()},
                  f"{self.path}/model.safetensors")


def take_attention(folder, layer):
    """Takes away a layer's queries, keys and values."""
    at = f"model.layers.{layer}.self_attn."
    return [folder.tensors.pop(f"{at}{part}_proj.weight") for part in "qkv"]


def aquila(folder):
    folder.name_as("aquila", "AquilaForCausalLM", rope_theta=10000.0)
    folder.drop("attention_bias", "mlp_bias", "head_dim", "rope_parameters")


def baichuan(folder):
    folder.name_as("baichuan", "BaichuanForCausalLM")
    folder.drop("num_key_value_heads", "rope_parameters", "head_dim")
    for layer in folder.layers():
        whole = torch.cat(take_attention(folder, layer))
        folder.tensors[f"model.layers.{layer}.self_attn.W_pack.weight"] = whole


def deepseek(folder):
    """Of Qwen2-MoE, whose shared expert has a gate: a gate of zeros halves what it gives."""
    folder.name_as("deepseek", "DeepseekForCausalLM", first_k_dense_replace=1, moe_layer_freq=1,
                   n_routed_experts=folder.fields["num_experts"], n_shared_experts=1,
                   scoring_func="softmax", rope_theta=10000.0, rope_scaling=None)
    folder.drop("num_experts", "mlp_only_layers", "shared_expert_intermediate_size",
                "rope_parameters", "decoder_sparse_step")
    for layer in folder.layers():
        gate = folder.tensors.pop(f"model.layers.{layer}.mlp.shared_expert_gate.weight", None)
        assert gate is None or not gate.any()
    folder.rename([(".shared_expert.", ".shared_experts.")])
    for name, tensor in folder.tensors.items():
        if name.endswith("shared_experts.down_proj.weight"):
            folder.tensors[name] = tensor / 2


def internlm(folder):
    folder.name_as("internlm", "InternLMForCausalLM", bias=True,
                   rotary=dict(base=folder.fields["rope_parameters"]["rope_theta"], type="dynamic"))
    folder.drop("attention_bias", "mlp_bias", "head_dim", "num_key_value_heads", "rope_parameters")


def internlm2(folder):
    """Of each KV head: its queries, then its key and its value."""
    folder.name_as("internlm2", "InternLM2ForCausalLM", bias=False, rope_theta=10000.0,
                   rope_scaling=None)
    folder.drop("attention_bias", "mlp_bias", "head_dim", "rope_parameters")
    groups = folder.fields["num_key_value_heads"]
    for layer in folder.layers():
        parts = [part.unflatten(0, (groups, -1)) for part in take_attention(folder, layer)]
        whole = torch.cat(parts, dim=1).flatten(0, 1)
        folder.tensors[f"model.layers.{layer}.attention.wqkv.weight"] = whole
    folder.rename([("self_attn.o_proj", "attention.wo"), ("mlp.gate_proj", "feed_forward.w1"),
                   ("mlp.up_proj", "feed_forward.w3"), ("mlp.down_proj", "feed_forward.w2"),
                   ("input_layernorm", "attention_norm"), ("post_attention_layernorm", "ffn_norm"),
                   ("embed_tokens", "tok_embeddings"), ("lm_head", "output")])


def minicpm(folder):
    fields = folder.fields
    depth = fields["residual_multiplier"] * fields["num_hidden_layers"] ** 0.5
    folder.name_as("minicpm", "MiniCPMForCausalLM", scale_emb=fields["embedding_multiplier"],
                   scale_depth=depth,
                   dim_model_base=fields["hidden_size"] / fields["logits_scaling"])
    folder.drop("embedding_multiplier", "residual_multiplier", "attention_multiplier",
                "logits_scaling", "rope_parameters", "attention_bias", "mlp_bias")


def orion(folder):
    folder.name_as("orion", "OrionForCausalLM", rms_norm_eps=folder.fields["layer_norm_eps"],
                   rope_theta=10000.0)
    folder.drop("layer_norm_eps", "use_parallel_residual", "use_qkv_bias", "qk_layernorm",
                "rope_parameters", "partial_rotary_factor")


def xverse(folder):
    folder.name_as("xverse", "XverseForCausalLM")
    folder.drop("attention_bias", "mlp_bias", "head_dim", "num_key_value_heads", "rope_parameters")


FORMS = {"aquila": aquila, "baichuan": baichuan, "deepseek": deepseek, "internlm": internlm,
         "internlm2": internlm2, "minicpm": minicpm, "orion": orion, "xverse": xverse}


def publish(path, name):
    """Gives the checkpoint of a case the form of its family's own files, where it has one."""
    if name in FORMS:
        folder = Folder(path)
        FORMS[name](folder)
        folder.save()
