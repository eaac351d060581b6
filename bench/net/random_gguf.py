#!/usr/bin/env python3
"""Writes a GGUF checkpoint of random weights, for servers that draw none themselves:

    bench/net/random_gguf.py llama-110m.gguf --type q8_0

The shapes are those of `weft bench step --shape llama-110m` (12 layers, 768 wide, 32,000 tokens) and of TinyLlama (22 layers,
2,048 wide, 4 KV heads). What it says means nothing and takes as long as if it did. Other types than these are made of a bf16
file by `weft quantize` or llama.cpp's llama-quantize. Needs PyPI's `gguf` and `numpy`.
"""

import argparse
from typing import NamedTuple

import gguf
import numpy as np

VOCABULARY = 32_000


class Shape(NamedTuple):
    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    context: int


SHAPES = {
    "llama-110m": Shape(12, 768, 2048, 12, 12, 1024),
    "tinyllama": Shape(22, 2048, 5632, 32, 4, 2048),
}
TYPES = {
    "bf16": (gguf.GGMLQuantizationType.BF16, gguf.LlamaFileType.MOSTLY_BF16),
    "f16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
}


def add_vocabulary(writer: gguf.GGUFWriter) -> None:
    """Three special tokens, the bytes, and words that no text has."""
    kind = gguf.TokenType
    tokens = [("<unk>", kind.UNKNOWN), ("<s>", kind.CONTROL), ("</s>", kind.CONTROL)]
    tokens += [(f"<0x{byte:02X}>", kind.BYTE) for byte in range(256)]
    tokens += [(f"\u2581w{i}", kind.NORMAL) for i in range(len(tokens), VOCABULARY)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * 3 + [-float(i) for i in range(3, VOCABULARY)])
    writer.add_token_types([of for _, of in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def add_weights(writer: gguf.GGUFWriter, shape: Shape, quantization: gguf.GGMLQuantizationType, seed: int) -> None:
    random = np.random.default_rng(seed)

    def add(name: str, rows: int, columns: int) -> None:
        weights = random.standard_normal((rows, columns), np.float32) / np.sqrt(columns, dtype=np.float32)
        writer.add_tensor(name, gguf.quantize(weights, quantization), raw_dtype=quantization)

    width, kv_width = shape.width, shape.width // shape.heads * shape.kv_heads
    add("token_embd.weight", VOCABULARY, width)
    add("output.weight", VOCABULARY, width)
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    for layer in range(shape.layers):
        block = f"blk.{layer}."
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}{name}.weight", np.ones(width, np.float32))
        for name, rows in (("attn_q", width), ("attn_k", kv_width), ("attn_v", kv_width), ("attn_output", width)):
            add(f"{block}{name}.weight", rows, width)
        add(f"{block}ffn_gate.weight", shape.inner, width)
        add(f"{block}ffn_up.weight", shape.inner, width)
        add(f"{block}ffn_down.weight", width, shape.inner)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="FILE")
    parser.add_argument("--shape", choices=SHAPES, default="llama-110m")
    parser.add_argument("--type", choices=TYPES, default="bf16", help="of the weights (bf16)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    quantization, file_type = TYPES[options.type]
    shape = SHAPES[options.shape]
    writer = gguf.GGUFWriter(options.out, "llama")
    writer.add_name(options.shape)
    writer.add_file_type(file_type)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.inner)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_dimension_count(shape.width // shape.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    add_vocabulary(writer)
    add_weights(writer, shape, quantization, options.seed)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
