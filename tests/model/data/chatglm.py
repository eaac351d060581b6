"""ChatGLM 2 and 3, which transformers does not have: a reference for make_goldens.py.

After the authors' description (Zeng et al., arXiv 2406.12793, and the config of THUDM/chatglm2-6b):
RMS norms before, one tensor for queries, keys and values, groups of queries that share keys and
values, rotary embeddings of neighbours in the first half of each head, SwiGLU.
"""
import json
import os
from types import SimpleNamespace

import torch
from safetensors.torch import save_file


class ChatGlm(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.fields = config
        self.config = SimpleNamespace(**config)
        c = self.config
        self.kv = c.multi_query_group_num
        width = (c.num_attention_heads + 2 * self.kv) * c.kv_channels
        self.names = {}
        def add(name, *shape):
            self.names[name] = torch.nn.Parameter(torch.zeros(shape))
            self.register_parameter(name.replace(".", "|"), self.names[name])
        add("transformer.embedding.word_embeddings.weight", c.padded_vocab_size, c.hidden_size)
        for layer in range(c.num_layers):
            at = f"transformer.encoder.layers.{layer}."
            add(at + "input_layernorm.weight", c.hidden_size)
            add(at + "self_attention.query_key_value.weight", width, c.hidden_size)
            add(at + "self_attention.query_key_value.bias", width)
            add(at + "self_attention.dense.weight", c.hidden_size,
                c.num_attention_heads * c.kv_channels)
            add(at + "post_attention_layernorm.weight", c.hidden_size)
            add(at + "mlp.dense_h_to_4h.weight", 2 * c.ffn_hidden_size, c.hidden_size)
            add(at + "mlp.dense_4h_to_h.weight", c.hidden_size, c.ffn_hidden_size)
        add("transformer.encoder.final_layernorm.weight", c.hidden_size)
        add("transformer.output_layer.weight", c.padded_vocab_size, c.hidden_size)

    def norm(self, name, x):
        eps = self.config.layernorm_epsilon
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * self.names[name + ".weight"]

    def linear(self, name, x):
        return torch.nn.functional.linear(x, self.names[name + ".weight"],
                                          self.names.get(name + ".bias"))

    def turn(self, heads):
        """[T, heads, D]: pairs of neighbours among the first D / 2 numbers."""
        half = self.config.kv_channels // 2
        base = 10000.0 * self.config.rope_ratio
        frequency = base ** (-torch.arange(0, half, 2).float() / half)
        angle = torch.arange(len(heads)).float()[:, None, None] * frequency
        a, b = heads[..., 0:half:2], heads[..., 1:half:2]
        turned = torch.stack([a * angle.cos() - b * angle.sin(),
                              b * angle.cos() + a * angle.sin()], dim=-1).flatten(-2)
        return torch.cat([turned, heads[..., half:]], dim=-1)

    def attend(self, name, x):
        c = self.config
        queries, keys, values = self.linear(name + "query_key_value", x).split(
            [c.num_attention_heads * c.kv_channels] + 2 * [self.kv * c.kv_channels], dim=-1)
        queries = self.turn(queries.unflatten(-1, (-1, c.kv_channels)))
        keys = self.turn(keys.unflatten(-1, (-1, c.kv_channels)))
        values = values.unflatten(-1, (-1, c.kv_channels))
        shared = c.num_attention_heads // self.kv
        keys, values = (t.repeat_interleave(shared, dim=1) for t in (keys, values))
        scores = torch.einsum("qhd,khd->hqk", queries, keys) * c.kv_channels ** -0.5
        hidden = torch.ones(len(x), len(x)).triu(1).bool()
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        mixed = torch.einsum("hqk,khd->qhd", weights, values).flatten(1)
        return self.linear(name + "dense", mixed)

    def forward(self, ids):
        x = self.names["transformer.embedding.word_embeddings.weight"][ids[0]]
        for layer in range(self.config.num_layers):
            at = f"transformer.encoder.layers.{layer}."
            x = x + self.attend(at + "self_attention.", self.norm(at + "input_layernorm", x))
            gate, up = self.linear(at + "mlp.dense_h_to_4h",
                                   self.norm(at + "post_attention_layernorm", x)).chunk(2, dim=-1)
            x = x + self.linear(at + "mlp.dense_4h_to_h", torch.nn.functional.silu(gate) * up)
        x = self.norm("transformer.encoder.final_layernorm", x)
        return SimpleNamespace(logits=self.linear("transformer.output_layer", x)[None])

    def tie_weights(self):
        pass

    def save_pretrained(self, folder):
        os.makedirs(folder)
        with open(f"{folder}/config.json", "w") as file:
            file.write(json.dumps(self.fields, indent=2) + "\n")
        save_file({name: tensor.data for name, tensor in self.names.items()},
                  f"{folder}/model.safetensors")
