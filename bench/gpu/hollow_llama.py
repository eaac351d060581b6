#!/usr/bin/env python3
"""Writes a Llama of the given sizes without its numbers: a checkpoint whose file is one hole. Usage:
hollow_llama.py FOLDER HIDDEN FEED_FORWARD HEADS KV_HEADS VOCABULARY [LAYERS].

Its products have the sizes of the real model's, so that `weft tune FOLDER --no-phi` measures a GPU for a model that is
not there. One layer is enough for that: all have the same.
"""

import json
import struct
import sys
from pathlib import Path


def tensors(hidden, feed_forward, heads, kv_heads, vocabulary, layers):
    key_values = hidden // heads * kv_heads
    shapes = {
        "model.embed_tokens.weight": [vocabulary, hidden],
        "model.norm.weight": [hidden],
        "lm_head.weight": [vocabulary, hidden],
    }
    layer = {
        "self_attn.q_proj": [hidden, hidden],
        "self_attn.k_proj": [key_values, hidden],
        "self_attn.v_proj": [key_values, hidden],
        "self_attn.o_proj": [hidden, hidden],
        "mlp.gate_proj": [feed_forward, hidden],
        "mlp.up_proj": [feed_forward, hidden],
        "mlp.down_proj": [hidden, feed_forward],
        "input_layernorm": [hidden],
        "post_attention_layernorm": [hidden],
    }
    for i in range(layers):
        shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()}
    return shapes


def write_hole(path, shapes):
    header, end = {}, 0
    for name, shape in shapes.items():
        size = 2
        for side in shape:
            size *= side
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(file.tell() + end)


def main():
    folder = Path(sys.argv[1])
    hidden, feed_forward, heads, kv_heads, vocabulary = map(int, sys.argv[2:7])
    layers = int(sys.argv[7]) if len(sys.argv) > 7 else 1
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "llama", "hidden_size": hidden, "intermediate_size": feed_forward, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": vocabulary,
        "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
    (folder / "config.json").write_text(json.dumps(config))
    write_hole(folder / "model.safetensors", tensors(hidden, feed_forward, heads, kv_heads, vocabulary, layers))


if __name__ == "__main__":
    main()
