#!/usr/bin/env python3
"""Writes quantized/: for each way in which Hugging Face's quantizers store weights a very small llama with what it computes.

    python3 -m venv venv
    venv/bin/pip install torch==2.15 transformers==5.23 safetensors gptqmodel==7.7 compressed-tensors==0.20 bitsandbytes==0.50.2
    venv/bin/python tests/model/data/make_quantized.py tests/model/data/quantized [CASE ...]

A case is a folder as those of make_goldens.py. The files are written by the projects' own packers: GPTQModel's linear modules,
compressed-tensors' compressors, bitsandbytes' functions on the CPU; AWQ's words by GPTQModel's packer of its GEMM layout, FP8 by
torch's type with scales beside it, MXFP4 as transformers reads it. Where a project can undo its packing, the weights must come out
as they went in. expected.safetensors has, beside prompts and logits, hash.NAME for each weight: FNV-1a over what it stands for
in f32, -0 as 0. The reference is transformers' eager code in float32 with these weights.
"""
import json
import os
import shutil
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

V = 24
SMALL = dict(hidden_size=64, intermediate_size=128, num_attention_heads=2, num_key_value_heads=1, head_dim=32)
WIDE = dict(hidden_size=128, intermediate_size=128, num_attention_heads=4, num_key_value_heads=1, head_dim=32)
OSS = dict(hidden_size=64, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1, head_dim=32, num_local_experts=3,
           num_experts_per_tok=2, sliding_window=6, layer_types=["full_attention"])


def fnv1a(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


def hash_of(weight):
    bits = (weight + 0.0).contiguous().numpy().astype("<f4").tobytes()
    return torch.from_numpy(np.array([fnv1a(bits)], dtype=np.uint64).view(np.int64))


class Groups:
    """A weight [outputs, inputs] as scale * (code - zero), with scales and zeros [outputs, groups]."""

    def __init__(self, weight, bits, group, symmetric, scale_type, group_of=None):
        outputs, inputs = weight.shape
        group = inputs if group == -1 else group
        self.bits, self.symmetric = bits, symmetric
        self.group_of = torch.arange(inputs) // group if group_of is None else group_of
        top = 2**bits - 1
        scales, zeros = [], []
        for index in range(inputs // group):
            part = weight[:, self.group_of == index]
            if symmetric:
                scale = part.abs().amax(1) / (top // 2)
                zero = torch.full((outputs,), (top + 1) // 2)
            else:
                low, high = part.amin(1).clamp(max=0), part.amax(1).clamp(min=0)
                scale = (high - low) / top
                zero = (-low / scale).round().clamp(1, top)
            scales.append(scale.to(scale_type))
            zeros.append(zero.int())
        self.scales, self.zeros = torch.stack(scales, 1), torch.stack(zeros, 1)
        scale, zero = self.spread(self.scales), self.spread(self.zeros)
        self.codes = (weight / scale.float() + zero).round().clamp(0, top).int()
        # The largest codes, and a group that is all zero, stand in every file.
        self.codes[0, 0], self.codes[0, 1] = 0, top
        self.codes[1, self.group_of == 0] = self.zeros[1, 0]
        self.values = scale.float() * (self.codes - zero).float()

    def spread(self, by_group):
        return by_group[:, self.group_of]


def words(codes, bits, axis):
    """Codes packed along an axis as a stream of bits, the first lowest, in 32-bit words."""
    codes = np.moveaxis(codes.numpy().astype(np.uint64), axis, 0)
    packed = np.zeros((-(-len(codes) * bits // 32) + 1, *codes.shape[1:]), dtype=np.uint64)
    for index, code in enumerate(codes):
        word, shift = divmod(index * bits, 32)
        both = code << np.uint64(shift)
        packed[word] |= both & np.uint64(0xffffffff)
        packed[word + 1] |= both >> np.uint64(32)
    packed = np.moveaxis(packed[:-1].astype(np.uint32).view(np.int32), 0, axis)
    return torch.from_numpy(np.ascontiguousarray(packed))


def gptq(bits, group, symmetric=False, v2=False, order=False):
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear

    def write(name, weight, random):
        inputs = weight.shape[1]
        size = inputs if group == -1 else group
        group_of = torch.arange(inputs) // size
        if order:
            # Those of queries, keys and values are the same, as with a quantizer: their inputs are.
            seed = 1 if name.split(".")[-1] in ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj") else 2
            group_of = group_of[torch.randperm(inputs, generator=torch.Generator().manual_seed(seed + inputs))]
        held = Groups(weight, bits, group, symmetric, torch.float16, group_of)
        module = TorchLinear(bits=bits, group_size=group, sym=symmetric, desc_act=order, in_features=inputs,
                             out_features=weight.shape[0], bias=False, pack_dtype=torch.int32)
        linear = torch.nn.Linear(inputs, weight.shape[0], bias=False)
        linear.weight.data = held.values
        module.pack_original(linear, held.scales.float(), held.zeros.float(), held.group_of.int())
        assert torch.equal(module.qweight, words(held.codes.T, bits, 0))
        assert torch.equal(module.qzeros, words(held.zeros.T, bits, 1))
        module.post_init()
        assert torch.equal(module.dequantize_weight().T.half(), held.values.half()), name
        zeros = module.qzeros if v2 else words(held.zeros.T - 1, bits, 1)
        tensors = {"qweight": module.qweight, "qzeros": zeros, "scales": module.scales, "g_idx": module.g_idx.int()}
        return {f"{name}.{key}": value for key, value in tensors.items()}, held.values

    config = dict(quant_method="gptq", bits=bits, group_size=group, desc_act=order, sym=symmetric)
    return write, dict(config, checkpoint_format="gptq_v2") if v2 else config


def awq(group):
    from gptqmodel.nn_modules.qlinear.gemm_awq import _pack_awq_columns

    def write(name, weight, random):
        held = Groups(weight, 4, group, False, torch.float16)
        tensors = {"qweight": _pack_awq_columns(held.codes.T.contiguous(), 4),
                   "qzeros": _pack_awq_columns(held.zeros.T.contiguous(), 4), "scales": held.scales.T}
        return {f"{name}.{key}": value for key, value in tensors.items()}, held.values

    return write, dict(quant_method="awq", bits=4, group_size=group, zero_point=True, version="gemm",
                       modules_to_not_convert=None)


def compressed(kind, bits, group=None, symmetric=True, order=False, strategy=None, scale_type=torch.bfloat16):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    strategy = strategy or ("group" if group else "channel")
    fields = dict(num_bits=bits, type="float" if kind == "float-quantized" else "int", strategy=strategy, symmetric=symmetric)
    if group:
        fields["group_size"] = group
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**fields))
    if order:
        fields["actorder"] = "group"

    def write(name, weight, random):
        state, inputs = {}, weight.shape[1]
        if kind == "float-quantized":
            scale = weight.abs().amax() if strategy == "tensor" else weight.abs().amax(1, keepdim=True)
            scale = (scale / 448).to(scale_type).reshape(1 if strategy == "tensor" else (-1, 1))
            state["weight_scale"] = scale
            values = (weight / scale.float()).clamp(-448, 448).to(torch.float8_e4m3fn).float() * scale.float()
        else:
            group_of = None
            if order:
                # Gate and up differ, which no quantizer does: their matrix is held in the inputs' own order.
                seed = inputs + name.endswith("up_proj")
                shuffled = torch.randperm(inputs, generator=torch.Generator().manual_seed(seed))
                group_of = (torch.arange(inputs) // group)[shuffled]
            held = Groups(weight, bits, group or -1, symmetric, scale_type, group_of)
            values = held.values
            state["weight_scale"] = held.scales
            if not symmetric:
                state["weight_zero_point"] = (held.zeros - 2**(bits - 1)).to(torch.int8)
            if order:
                state["weight_g_idx"] = group_of.int()
        compressor = BaseCompressor.get_value_from_registry(kind)
        # In f32, so that the codes are those that were chosen.
        scales = state["weight_scale"]
        exact = dict(state, weight=values, weight_scale=scales.float())
        if order:  # groups are put side by side to be rounded, and back
            column = torch.argsort(state["weight_g_idx"], stable=True)
            exact["weight"] = values[:, column]
            exact.pop("weight_g_idx")
        tensors = compressor.compress(exact, scheme)
        back = compressor.decompress(dict(tensors), scheme)["weight"].float()
        if order:
            back = back[:, torch.argsort(column)]
            tensors["weight_packed"] = words((held.codes), bits, 1)
            tensors["weight_g_idx"] = state["weight_g_idx"]
        assert torch.equal(back, values), name
        tensors["weight_scale"] = scales
        return {f"{name}.{key}": value for key, value in tensors.items()}, values

    config = dict(quant_method="compressed-tensors", format=kind, quantization_status="compressed", ignore=["lm_head"],
                  config_groups=dict(group_0=dict(targets=["Linear"], weights=fields, input_activations=None,
                                                  output_activations=None)))
    return write, config


def fp8_blocks(size):
    def write(name, weight, random):
        outputs, inputs = weight.shape
        rows, columns = -(-outputs // size), -(-inputs // size)
        scales = torch.zeros(rows, columns)
        for row in range(rows):
            for column in range(columns):
                part = weight[row * size:(row + 1) * size, column * size:(column + 1) * size]
                scales[row, column] = part.abs().amax() / 448
        spread = scales.repeat_interleave(size, 0)[:outputs].repeat_interleave(size, 1)[:, :inputs]
        codes = (weight / spread).to(torch.float8_e4m3fn)
        return {f"{name}.weight": codes, f"{name}.weight_scale_inv": scales}, codes.float() * spread

    return write, dict(quant_method="fp8", fmt="e4m3", activation_scheme="dynamic", weight_block_size=[size, size])


def fp8_tensor():
    def write(name, weight, random):
        scale = weight.abs().amax() / 448
        codes = (weight / scale).to(torch.float8_e4m3fn)
        return ({f"{name}.weight": codes, f"{name}.weight_scale": scale, f"{name}.input_scale": torch.tensor(0.1)},
                codes.float() * scale)

    return write, dict(quant_method="fp8", activation_scheme="static")


def four_bits(kind, nested):
    from bitsandbytes import functional as bnb

    def write(name, weight, random):
        codes, state = bnb.quantize_4bit(weight, blocksize=64, compress_statistics=nested, quant_type=kind)
        values = bnb.dequantize_4bit(codes, state)
        tensors = {f"{name}.weight": codes}
        tensors |= {f"{name}.weight.{key}": value for key, value in state.as_dict(packed=True).items()}
        return tensors, values

    return write, dict(quant_method="bitsandbytes", load_in_4bit=True, load_in_8bit=False, bnb_4bit_quant_type=kind,
                       bnb_4bit_use_double_quant=nested, bnb_4bit_compute_dtype="bfloat16")


def int8():
    def write(name, weight, random):
        most = weight.abs().amax(1)
        codes = (weight * (127 / most)[:, None]).round().to(torch.int8)
        values = codes.float() * (most * torch.tensor(1 / 127, dtype=torch.float32))[:, None]
        from bitsandbytes import functional as bnb
        assert torch.allclose(bnb.int8_vectorwise_dequant(codes, most), values, rtol=3e-7, atol=0)
        return {f"{name}.weight": codes, f"{name}.SCB": most, f"{name}.weight_format": torch.tensor(0, dtype=torch.uint8)}, values

    return write, dict(quant_method="bitsandbytes", load_in_4bit=False, load_in_8bit=True, llm_int8_threshold=6.0)


def mxfp4():
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    def write(name, weight, random):
        if "experts" not in name:
            return {f"{name}.weight": weight.half()}, weight.half().float()
        experts, inputs, outputs = weight.shape
        blocks = torch.randint(0, 256, (experts, outputs, inputs // 32, 16), generator=random, dtype=torch.uint8)
        scales = torch.randint(121, 126, (experts, outputs, inputs // 32), generator=random, dtype=torch.uint8)
        return ({f"{name}_blocks": blocks, f"{name}_scales": scales},
                convert_moe_packed_tensors(blocks, scales, dtype=torch.float32))

    return write, dict(quant_method="mxfp4", modules_to_not_convert=["model.layers.*.self_attn"])


CASES = {
    "gptq2": (SMALL, lambda: gptq(2, 32)),
    "gptq3": (SMALL, lambda: gptq(3, 64)),
    "gptq4": (WIDE, lambda: gptq(4, 128, symmetric=True)),
    "gptq4-order": (SMALL, lambda: gptq(4, 32, order=True)),
    "gptq4-v2": (SMALL, lambda: gptq(4, 64, v2=True)),
    "gptq8": (SMALL, lambda: gptq(8, -1, symmetric=True)),
    "awq": (SMALL, lambda: awq(64)),
    "awq-32": (SMALL, lambda: awq(32)),
    "packed4": (SMALL, lambda: compressed("pack-quantized", 4, 32)),
    "packed4-asymmetric": (SMALL, lambda: compressed("pack-quantized", 4, 64, symmetric=False)),
    "packed4-order": (SMALL, lambda: compressed("pack-quantized", 4, 32, order=True)),
    "packed8": (SMALL, lambda: compressed("pack-quantized", 8, 32)),
    "int8-channel": (SMALL, lambda: compressed("int-quantized", 8)),
    "fp8-channel": (SMALL, lambda: compressed("float-quantized", 8)),
    "fp8-tensor": (SMALL, fp8_tensor),
    "fp8-blocks": (WIDE, lambda: fp8_blocks(128)),
    "nf4": (SMALL, lambda: four_bits("nf4", False)),
    "nf4-nested": (SMALL, lambda: four_bits("nf4", True)),
    "fp4": (SMALL, lambda: four_bits("fp4", False)),
    "llm-int8": (SMALL, int8),
    "mxfp4": (OSS, mxfp4),
}


def weights_of(model):
    """The layers' matrices: linear modules, and experts as they stand in memory, [experts, inputs, outputs]."""
    for name, module in model.model.layers.named_modules(prefix="model.layers"):
        if isinstance(module, torch.nn.Linear) or hasattr(module, "weight") and module.weight.dim() == 2:
            yield name, module.weight
        for part in ("gate_up_proj", "down_proj"):
            if isinstance(getattr(module, part, None), torch.nn.Parameter):
                yield f"{name}.{part}", getattr(module, part)


def make(folder, name):
    sizes, scheme = CASES[name]
    write, quantization = scheme()
    random = torch.Generator().manual_seed(sum((i + 1) * ord(c) for i, c in enumerate(name)))
    config = AutoConfig.for_model("gpt_oss" if name == "mxfp4" else "llama", vocab_size=V, num_hidden_layers=1, bos_token_id=1,
                                  eos_token_id=2, max_position_embeddings=64, tie_word_embeddings=name != "mxfp4", **sizes)
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).float().eval()
    tensors, expected = {}, {}
    with torch.no_grad():
        for tensor_name, tensor in model.named_parameters():
            noise = torch.randn(tensor.shape, generator=random)
            is_norm = "norm" in tensor_name
            noise = 0.1 * noise + is_norm if tensor.dim() == 1 else noise * 1.4 / tensor.shape[-1]**0.5
            tensor.copy_(noise.half().float())
        quantized = set()
        for weight_name, weight in weights_of(model):
            stored, values = write(weight_name, weight.data.clone(), random)
            tensors |= stored
            weight.copy_(values)
            by_output = values.transpose(1, 2) if values.dim() == 3 else values
            stem = weight_name if values.dim() == 3 else weight_name + ".weight"
            if stem not in stored or stored[stem].dtype != torch.float16:
                expected[f"hash.{stem}"] = hash_of(by_output)
            quantized.add(stem)
        for tensor_name, tensor in model.state_dict().items():
            if tensor_name not in quantized and not (tensor_name == "lm_head.weight" and config.tie_word_embeddings):
                tensors[tensor_name] = tensor.half()
        for i, length in enumerate((2, 17)):
            prompt = torch.randint(3, V, (length,), generator=random)
            ids = prompt
            for _ in range(4):
                ids = torch.cat([ids, model(ids[None]).logits[0, -1].argmax()[None]])
            expected |= {f"prompt_{i}": prompt, f"logits_{i}": model(prompt[None]).logits[0].contiguous(),
                         f"greedy_{i}": ids[length:]}
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    fields = dict(config.to_dict(), torch_dtype="float16", quantization_config=quantization)
    with open(f"{folder}/config.json", "w") as file:
        file.write(json.dumps(fields, indent=2, sort_keys=True) + "\n")
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, f"{folder}/model.safetensors")
    save_file(expected, f"{folder}/expected.safetensors")


if __name__ == "__main__":
    root = sys.argv[1]
    torch.set_num_threads(1)
    for case in sys.argv[2:] or CASES:
        make(os.path.join(root, case), case)
        print(case, flush=True)
