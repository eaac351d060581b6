"""Baichuan 13B, which transformers does not have: a reference for make_goldens.py.

After the authors' description (Yang et al., arXiv 2309.10305, and the config of
baichuan-inc/Baichuan2-13B-Base): RMS norms before, one tensor for queries, keys and values, ALiBi
instead of rotary embeddings, SwiGLU, and Baichuan 2's head, whose rows have length 1.
"""
import json
import math
import os
from types import SimpleNamespace

import torch
from safetensors.torch import save_file


def slopes(heads):
    """ALiBi's slopes (Press et al., arXiv 2108.12409), for any number of heads."""
    power = 2 ** math.floor(math.log2(heads))
    found = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    found += [2 ** (-4 * (2 * i + 1) / power) for i in range(heads - power)]
    return torch.tensor(found)


class Baichuan(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.fields = config
        self.config = c = SimpleNamespace(**config)
        self.names = {}

        def add(name, *shape):
            self.names[name] = torch.nn.Parameter(torch.zeros(shape))
            self.register_parameter(name.replace(".", "|"), self.names[name])
        add("model.embed_tokens.weight", c.vocab_size, c.hidden_size)
        for layer in range(c.num_hidden_layers):
            at = f"model.layers.{layer}."
            add(at + "input_layernorm.weight", c.hidden_size)
            add(at + "self_attn.W_pack.weight", 3 * c.hidden_size, c.hidden_size)
            add(at + "self_attn.o_proj.weight", c.hidden_size, c.hidden_size)
            add(at + "post_attention_layernorm.weight", c.hidden_size)
            add(at + "mlp.gate_proj.weight", c.intermediate_size, c.hidden_size)
            add(at + "mlp.up_proj.weight", c.intermediate_size, c.hidden_size)
            add(at + "mlp.down_proj.weight", c.hidden_size, c.intermediate_size)
        add("model.norm.weight", c.hidden_size)
        add("lm_head.weight", c.vocab_size, c.hidden_size)

    def norm(self, name, x):
        eps = self.config.rms_norm_eps
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * self.names[name + ".weight"]

    def linear(self, name, x):
        return torch.nn.functional.linear(x, self.names[name + ".weight"])

    def attend(self, name, x):
        heads = self.config.num_attention_heads
        queries, keys, values = (part.unflatten(-1, (heads, -1))
                                 for part in self.linear(name + "W_pack", x).chunk(3, dim=-1))
        scores = torch.einsum("qhd,khd->hqk", queries, keys) * queries.shape[-1] ** -0.5
        places = torch.arange(len(x)).float()
        scores = scores - slopes(heads)[:, None, None] * (places[:, None] - places[None])
        hidden = torch.ones(len(x), len(x)).triu(1).bool()
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        mixed = torch.einsum("hqk,khd->qhd", weights, values).flatten(1)
        return self.linear(name + "o_proj", mixed)

    def forward(self, ids):
        x = self.names["model.embed_tokens.weight"][ids[0]]
        for layer in range(self.config.num_hidden_layers):
            at = f"model.layers.{layer}."
            x = x + self.attend(at + "self_attn.", self.norm(at + "input_layernorm", x))
            inner = self.norm(at + "post_attention_layernorm", x)
            gate = torch.nn.functional.silu(self.linear(at + "mlp.gate_proj", inner))
            x = x + self.linear(at + "mlp.down_proj", gate * self.linear(at + "mlp.up_proj", inner))
        head = torch.nn.functional.normalize(self.names["lm_head.weight"])
        return SimpleNamespace(logits=(self.norm("model.norm", x) @ head.T)[None])

    def tie_weights(self):
        pass

    def save_pretrained(self, folder):
        os.makedirs(folder)
        with open(f"{folder}/config.json", "w") as file:
            file.write(json.dumps(self.fields, indent=2) + "\n")
        # The head's rows are divided by their lengths, and float16 would round the quotients.
        tensors = {name: tensor.data.float() if name == "lm_head.weight" else tensor.data
                   for name, tensor in self.names.items()}
        save_file(tensors, f"{folder}/model.safetensors")
