#!/usr/bin/env python3
"""Writes mixes.json: the types that llama.cpp gives the tensors of made-up models, for each of its file types.

    python3 -m venv venv && venv/bin/pip install gguf==0.19.0 cyllama==0.2.18     # has llama.cpp in it
    venv/bin/python tests/model/llama_cpp/make_mixes.py tests/model/data/mixes.json

A model is metadata and the names and shapes of tensors; their numbers do not matter. llama.cpp says in its log what it would
make of each tensor (dry_run). In the file a model has its metadata ("config"), its tensors ("blk.*" stands for each layer),
and for each file type, by its number, the type that most have ("own") and those of the other matrices: one, or of layers the runs of
equal types ("q6_k 4, q4_k 12"). The number with "i" is with an importance matrix, where that makes a difference.
"""
import ctypes
import itertools
import json
import os
import re
import sys
import tempfile
from pathlib import Path

FILE_TYPES = [0, 1, 2, 3, 7, 8, 9, *range(10, 33), 36, 37, 38]
# How far into the binding's object its pointer to the importance matrix stands: it has no setter.
IMPORTANCE_AT = 48


def attention(width, heads, kv_heads):
    size = width // heads
    return {"attn_q": (width, width), "attn_k": (kv_heads * size, width), "attn_v": (kv_heads * size, width),
            "attn_output": (width, width)}


def dense(width, hidden):
    return {"ffn_gate": (hidden, width), "ffn_up": (hidden, width), "ffn_down": (width, hidden)}


def experts(width, hidden, count):
    return {"ffn_gate_inp": (count, width), "ffn_gate_exps": (count, hidden, width), "ffn_up_exps": (count, hidden, width),
            "ffn_down_exps": (count, width, hidden)}


def shared(width, hidden):
    return {"ffn_gate_shexp": (hidden, width), "ffn_up_shexp": (hidden, width), "ffn_down_shexp": (width, hidden)}


def fused(width, hidden):
    return {"attn_qkv": (3 * width, width), "attn_output": (width, width), "ffn_up": (hidden, width),
            "ffn_down": (width, hidden)}


def model(architecture, layers, blocks, width=256, heads=4, kv_heads=4, expert_count=0, tied=False, more=None, rows=64):
    config = {"general.architecture": architecture, "block_count": layers, "embedding_length": width,
              "context_length": 128, "feed_forward_length": 512, "attention.head_count": heads,
              "attention.head_count_kv": kv_heads, "attention.layer_norm_rms_epsilon": 1e-5,
              "attention.layer_norm_epsilon": 1e-5, "vocab_size": rows}
    if expert_count:
        config.update({"expert_count": expert_count, "expert_used_count": 2})
    tensors = {"token_embd.weight": (rows, width), "output_norm.weight": (width,)}
    if not tied:
        tensors["output.weight"] = (rows, width)
    tensors.update(more or {})
    tensors["blk.*.attn_norm.weight"] = (width,)
    tensors.update({f"blk.*.{name}.weight": shape for name, shape in blocks.items()})
    return {"layers": layers, "config": {key if "." in key and key.startswith("general") else f"{architecture}.{key}": value
                                         for key, value in config.items()}, "tensors": tensors}


MODELS = {
    "dense": model("llama", 32, {**attention(256, 4, 4), **dense(256, 512)}),
    "grouped": model("llama", 22, {**attention(256, 8, 1), **dense(256, 512)}, heads=8, kv_heads=1),
    "pairs": model("qwen2", 12, {**attention(256, 4, 2), **dense(256, 512)}, kv_heads=2, tied=True),
    "large": model("llama", 80, {**attention(256, 8, 1), **dense(256, 512)}, heads=8, kv_heads=1),
    "large-qwen": model("qwen2", 80, {**attention(256, 4, 2), **dense(256, 512)}, kv_heads=2),
    "eight-experts": model("llama", 32, {**attention(256, 8, 2), **experts(256, 256, 8)}, heads=8, kv_heads=2, expert_count=8),
    "four-experts": model("llama", 16, {**attention(256, 4, 2), **experts(256, 256, 4)}, kv_heads=2, expert_count=4),
    "shared-experts": model("qwen2moe", 24, {**attention(256, 4, 4), **experts(256, 256, 60), **shared(256, 512)},
                            expert_count=60),
    "rows-of-32": model("llama", 8, {**attention(160, 4, 2), **dense(160, 416)}, width=160, kv_heads=2),
    "odd-rows": model("llama", 8, {**attention(320, 4, 4), **dense(320, 688)}, width=320),
    "falcon": model("falcon", 32, fused(256, 1024), kv_heads=1),
    "gpt2": model("gpt2", 12, fused(256, 1024), more={"position_embd.weight": (128, 256)}, tied=True),
}


def names(entry):
    for name, shape in entry["tensors"].items():
        for layer in range(entry["layers"]) if "*" in name else [None]:
            yield name if layer is None else name.replace("*", str(layer)), shape


def write(entry, path):
    """As float16, without numbers: the file ends in a hole."""
    import gguf
    import numpy as np
    writer = gguf.GGUFWriter(path, entry["config"]["general.architecture"])
    for key, value in entry["config"].items():
        if key == "general.architecture":
            continue
        (writer.add_float32 if isinstance(value, float) else writer.add_uint32)(key, value)
    for name, shape in names(entry):
        kind = np.float16 if len(shape) > 1 else np.float32
        writer.add_tensor_info(name, shape, np.dtype(kind), int(np.prod(shape)) * np.dtype(kind).itemsize)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    size = sum((int(np.prod(shape)) * (2 if len(shape) > 1 else 4) + 31) // 32 * 32 for _, shape in names(entry))
    os.truncate(path, (path.stat().st_size + 31) // 32 * 32 + size)


class Importance(ctypes.Structure):
    """llama_model_imatrix_data"""
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.POINTER(ctypes.c_float)), ("size", ctypes.c_size_t)]


def types_of(path, file_type, has_importance):
    """What llama.cpp's log says of each tensor that would change."""
    from cyllama.llama import llama_cpp
    params = llama_cpp.LlamaModelQuantizeParams()
    params.ftype, params.dry_run, params.nthread = file_type, True, 1
    number = ctypes.c_float(1)
    table = (Importance * 2)(Importance(b"token_embd.weight", ctypes.pointer(number), 1), Importance())
    if has_importance:
        ctypes.c_void_p.from_address(id(params) + IMPORTANCE_AT).value = ctypes.addressof(table)
    with tempfile.TemporaryFile() as log:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            llama_cpp.model_quantize(str(path), str(path) + ".none", params)
        except RuntimeError:
            return None
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            log.seek(0)
            text = log.read().decode()
    types = {}
    for line in text.splitlines():
        found = re.match(r"\[ *\d+/ *\d+\] +(\S+) .*type = +(\w+),", line)
        if found:
            made = re.search(r"\((\w+)\)\s*$", line)
            types[found[1]] = (made[1] if made else found[2]).lower()
    assert types, text
    return types


def folded(entry, types):
    """The most frequent type; of each matrix with others its type, of layers their runs."""
    matrices = [types[name] for name, shape in names(entry) if len(shape) > 1]
    own = max(sorted(set(matrices)), key=matrices.count)
    result = {"own": own}
    for name, shape in entry["tensors"].items():
        if len(shape) < 2:
            continue
        if "*" not in name:
            if types[name] != own:
                result[name] = types[name]
            continue
        kinds = [types[name.replace("*", str(layer))] for layer in range(entry["layers"])]
        if set(kinds) != {own}:
            result[name] = ", ".join(f"{kind} {len(list(run))}" for kind, run in itertools.groupby(kinds))
    return result


def main(target):
    table = {}
    for case, entry in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.gguf"
            write(entry, path)
            made = {}
            for file_type in FILE_TYPES:
                types = types_of(path, file_type, False)
                if types is None:
                    continue
                made[str(file_type)] = folded(entry, types)
                guided = folded(entry, types_of(path, file_type, True))
                if guided != made[str(file_type)]:
                    made[f"{file_type}i"] = guided
        table[case] = {**entry, "types": made}
        print(case, len(made), flush=True)
    text = json.dumps(table, indent=1)
    Path(target).write_text(re.sub(r"\n {4,}", " ", re.sub(r"\n {3,}([\]}])", r" \1", text)).replace('}, "', '},\n   "') + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
