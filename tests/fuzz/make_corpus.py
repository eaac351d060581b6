#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: tests/fuzz/corpus/TARGET/NAME, a few small files each. Usage: make_corpus.py

A target of your own: add a function of its name that returns {NAME: bytes}, and run this again.
"""

import io
import json
import struct
import zipfile
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
LEGACY_MAGIC = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e") + b"\x80\x02M\xe9\x03."


def safetensors_file(header, data):
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def quantized():
    """A configuration, a zero byte and a file: each scheme's tensors of one small weight, all of them zero bytes but what is text."""
    sizes = {"I32": 4, "F16": 2, "BF16": 2, "F32": 4, "U8": 1, "I8": 1, "I64": 8, "F8_E4M3": 1}

    def seed(config, **tensors):
        header, data = {}, b""
        for name, (dtype, shape, *content) in tensors.items():
            size = sizes[dtype]
            for extent in shape:
                size *= extent
            own = content[0] if content else bytes(size)
            header["m." + name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(own)]}
            data += own
        text = json.dumps({"quantization_config": config}, separators=(",", ":")).encode()
        return text + b"\0" + safetensors_file(header, data)

    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": True}
    packed = {"quant_method": "compressed-tensors", "format": "pack-quantized",
              "config_groups": {"g": {"weights": {"num_bits": 4, "type": "int", "strategy": "group"}}}}
    nf4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
           -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
           0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
    state = json.dumps({"quant_type": "nf4", "blocksize": 64, "shape": [2, 64], "nested_blocksize": 256,
                        "nested_offset": 0.5}).encode()
    order = struct.pack("<64i", *(i % 2 for i in range(64)))
    return {
        "gptq": seed(gptq, qweight=("I32", [8, 8]), qzeros=("I32", [2, 1]), scales=("F16", [2, 8]),
                     g_idx=("I32", [64], order)),
        "gptq3": seed({"quant_method": "gptq", "bits": 3}, qweight=("I32", [6, 8]), qzeros=("I32", [1, 1]),
                      scales=("F16", [1, 8])),
        "awq": seed({"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm"}, qweight=("I32", [64, 1]),
                    qzeros=("I32", [2, 1]), scales=("F16", [2, 8])),
        "packed": seed(packed, weight_packed=("I32", [4, 8]), weight_scale=("BF16", [4, 2]), weight_zero_point=("I32", [1, 2]),
                       weight_shape=("I64", [2], struct.pack("<2q", 4, 64))),
        "int8": seed({"quant_method": "compressed-tensors", "format": "int-quantized"}, weight=("I8", [4, 32]),
                     weight_scale=("F32", [4, 1]), weight_zero_point=("I8", [4, 1])),
        "fp8": seed({"quant_method": "fp8", "weight_block_size": [32, 32]}, weight=("F8_E4M3", [40, 64]),
                    weight_scale_inv=("F32", [2, 2])),
        "mxfp4": seed({"quant_method": "mxfp4"}, up_blocks=("U8", [2, 3, 2, 16]), up_scales=("U8", [2, 3, 2])),
        "llm_int8": seed({"load_in_8bit": True}, weight=("I8", [4, 32]), SCB=("F32", [4]), weight_format=("U8", [])),
        "nf4": seed({"quant_method": "bitsandbytes"}, **{
            "weight": ("U8", [64, 1]), "weight.absmax": ("U8", [2]), "weight.nested_absmax": ("F32", [1]),
            "weight.nested_quant_map": ("F32", [256]), "weight.quant_map": ("F32", [16], struct.pack("<16f", *nf4)),
            "weight.quant_state.bitsandbytes__nf4": ("U8", [len(state)], state)}),
    }


def safetensors():
    two = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [0, 4]},
        "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]},
    }
    encoded = {
        "__metadata__": {"weft.encoding.a": "q4_b64"},
        "a": {"dtype": "U8", "shape": [2, 72], "data_offsets": [0, 144]},
    }
    return {"empty": safetensors_file({}, b""), "encoded": safetensors_file(encoded, bytes(144)), "two": safetensors_file(two, bytes(12))}


def adapter_config():
    lists = {"peft_type": "LORA", "r": 4, "lora_alpha": 6.5, "use_rslora": True, "target_modules": ["q_proj", "v_proj"],
             "rank_pattern": {"layers.1.self_attn.q_proj": 3}, "alpha_pattern": {"^model.*": 2}, "layers_to_transform": [1],
             "layers_pattern": ["layers"], "exclude_modules": ["k_proj"], "modules_to_save": ["lm_head"], "bias": "lora_only",
             "trainable_token_indices": {"embed_tokens": [1, 5]}, "target_parameters": ["mlp.experts.down_proj"]}
    pattern = {"target_modules": ".*\\.[01]\\..*(q|v)_proj", "exclude_modules": ".*k_proj", "init_lora_weights": "pissa",
               "trainable_token_indices": [3], "layer_replication": [[0, 2]], "unknown": {}}
    return {"lists": json.dumps(lists).encode(), "pattern": json.dumps(pattern).encode()}


def checkpoint_index():
    weights = {"a": "1.safetensors", "b": "2.safetensors", "c": "1.safetensors"}
    return {"three": json.dumps({"metadata": {"total_size": 12}, "weight_map": weights}).encode()}


def opcode_text(text):
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def tensor(key, shape, strides, elements, legacy=False):
    """Returns the bytes that torch.save writes for a float tensor, without a memo."""
    def tuple_of(numbers):
        return b"(" + b"".join(b"K" + bytes([n]) for n in numbers) + b"t"

    storage = (b"(" + opcode_text("storage") + b"ctorch\nFloatStorage\n" + opcode_text(key) + opcode_text("cpu") + b"K"
               + bytes([elements]) + (b"N" if legacy else b"") + b"tQ")
    return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + tuple_of(shape) + tuple_of(strides)
            + b"\x89ccollections\nOrderedDict\n)RtR")


def state_dict(legacy=False):
    return (b"\x80\x02ccollections\nOrderedDict\n)R(" + opcode_text("w") + tensor("0", [2, 3], [3, 1], 6, legacy)
            + opcode_text("v") + tensor("0", [3, 2], [1, 3], 6, legacy) + b"u.")


def pickle():
    return {
        "state_dict": state_dict(),
        "memo": b"\x80\x02]q\x00(h\x00K\x01e.",
        "protocol4": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01a\x94K\x01s.",
        "constants": b"\x80\x02(NK\x01M\x01\x02J\x01\x02\x03\x04\x8a\x01\xffG?\xf0\x00\x00\x00\x00\x00\x00\x88\x89U\x01atq\x01.",
    }


def archive(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as files:
        for name, content in entries.items():
            files.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def wide_archive():
    """One entry, with zip64 fields wherever there are any."""
    local = b"PK\x03\x04" + struct.pack("<HHHIIIIHH", 45, 8, 0, 0, 0, 0, 0, 1, 0) + b"a" + b"data"
    numbers = struct.pack("<QQQ", 4, 4, 0)
    central = (b"PK\x01\x02" + struct.pack("<HHHHIIIIHHHHHII", 45, 45, 8, 0, 0, 0, 2**32 - 1, 2**32 - 1, 1, 28, 0, 0, 0,
                                           0, 2**32 - 1) + b"a" + struct.pack("<HH", 1, 24) + numbers)
    end = len(local) + len(central)
    return (local + central + b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 1, 1, len(central), len(local))
            + b"PK\x06\x07" + struct.pack("<IQI", 0, end, 1)
            + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 2**16 - 1, 2**16 - 1, 2**32 - 1, 2**32 - 1, 0))


def zip():
    return {"two": archive({"b": b"second", "a": b"1st"}), "zip64": wide_archive()}


def pickle_checkpoint():
    data = struct.pack("<6f", *range(6))
    legacy = (LEGACY_MAGIC + b"\x80\x02}(" + opcode_text("little_endian") + b"\x88u." + state_dict(legacy=True)
              + b"\x80\x02](" + opcode_text("0") + b"e." + struct.pack("<q", 6) + data)
    whole = archive({"m/data.pkl": state_dict(), "m/byteorder": b"little", "m/data/0": data})
    return {"zip": whole, "legacy": legacy}


def gguf():
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def pair(key, kind, value):
        return text(key) + struct.pack("<I", kind) + value

    def array(kind, values):
        return struct.pack("<IQ", kind, len(values)) + b"".join(values)

    def file(version, pairs, infos, data):
        head = b"GGUF" + struct.pack("<IQQ", version, len(infos), len(pairs)) + b"".join(pairs) + b"".join(infos)
        return head + bytes(-len(head) % 32) + data if data else head

    def info(name, dimensions, kind, offset):
        return (text(name) + struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
                + struct.pack("<IQ", kind, offset))

    numbers = [pair(f"n{kind}", kind, struct.pack("<" + code, 1))
               for kind, code in zip_of(range(13), "BbHhIif?", "QqD".lower())]
    vocabulary = [
        pair("general.architecture", 8, text("llama")),
        pair("general.alignment", 4, struct.pack("<I", 32)),
        pair("tokenizer.ggml.model", 8, text("llama")),
        pair("tokenizer.ggml.tokens", 9, array(8, [text("<unk>"), text("<s>"), text("</s>"), text("a")])),
        pair("tokenizer.ggml.scores", 9, array(6, [struct.pack("<f", -i) for i in range(4)])),
        pair("tokenizer.ggml.token_type", 9, array(5, [struct.pack("<i", i) for i in (2, 3, 3, 1)])),
        pair("tokenizer.ggml.merges", 9, array(8, [text("a b")])),
        pair("tokenizer.ggml.bos_token_id", 4, struct.pack("<I", 1)),
        pair("tokenizer.ggml.add_bos_token", 7, b"\x01"),
    ]
    arrays = [pair("nested", 9, array(9, [array(0, [b"\x01", b"\x02"])])), pair("texts", 9, array(8, [text("x")]))]
    tensors = [info("a", [2, 3], 0, 0), info("b", [32], 8, 32)]
    # The encodings of weights: a row of 256 each, in blocks of so many bytes.
    blocks = {2: 144, 3: 160, 6: 176, 7: 192, 8: 272, 10: 84, 11: 110, 12: 144, 13: 176, 14: 210, 16: 66, 17: 74, 18: 98,
              19: 50, 20: 144, 21: 110, 22: 82, 23: 136, 29: 56, 34: 54, 35: 66, 39: 136}
    mixed, size = [], 0
    for kind, count in blocks.items():
        mixed.append(info(f"t{kind}", [256], kind, size))
        size += -(-count // 32) * 32
    return {
        "encodings": file(3, vocabulary[:2], mixed, bytes(size)),
        "numbers": file(2, numbers + arrays, [], b""),
        "vocabulary": file(3, vocabulary, [], b""),
        "tensors": file(3, vocabulary[:2], tensors, bytes(32 + 34)),
    }


def zip_of(numbers, first, last):
    """Pairs of GGUF's type numbers and struct's letters; types 8 and 9 are text and arrays."""
    letters = dict(enumerate(first)) | {10 + i: letter for i, letter in enumerate(last)}
    return [(number, letters[number]) for number in numbers if number in letters]


def llama2c():
    header = struct.pack("<7i", 4, 2, 1, 2, 1, 3, 2)
    layer = 4 + 16 + 8 + 8 + 16 + 4 + 8 + 8 + 8
    version1 = struct.pack("<Ii", 0x616B3432, 1) + header + b"\x01"
    return {
        "version0": header + bytes(4 * (12 + layer + 4 + 2 * 2)),
        "version1": version1.ljust(256, b"\0") + bytes(4 * (12 + layer + 4)),
    }


def llama2c_tokenizer():
    tokens = [b"<unk>", b"\n<s>\n", b"\n</s>\n", b"<0x0A>", b" a"]
    texts = b"".join(struct.pack("<fi", -i, len(token)) + token for i, token in enumerate(tokens))
    return {"five": bytes([len(tokens)]) + struct.pack("<i", 7) + texts}


def checkpoint_format():
    return {
        "gguf": b"GGUF\x03\x00\x00\x00",
        "safetensors": b"\x02\x00\x00\x00\x00\x00\x00\x00{}",
        "zip": b"PK\x03\x04",
        "lfs": b"version https://git-lfs.github.com/spec/v1\n",
        "llama2c": llama2c()["version0"],
        "tar": bytes(257) + b"ustar",
    }


def jinja():
    """A template, a zero byte and its variables."""
    variables = {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Größe?"}]},
            {"role": "assistant", "content": None,
             "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5, True]}}}]},
        ],
        "s": " a-b <c>\nd ", "l": [3, 1, 2], "d": {"b": 1, "a": [2]}, "n": -7, "bos_token": "<s>",
    }
    templates = {
        "chat": "{{- bos_token }}{% for m in messages %}\n{%- if m.role == 'system' and not loop.last %}\n"
                "[{{ m['content'] | trim }}]\n{%- elif m.content is string %}{{ m.content }}{% else %}"
                "{{ m.tool_calls[0].function | tojson(indent=2) }}{% endif %}{% endfor %}",
        "statements": "{% macro f(a, b=1) %}{{ a ~ b }}{{ caller() if caller }}{{ varargs }}{{ kwargs }}{% endmacro %}"
                      "{% call f(n, 2, 3, c=4) %}x{% endcall %}{% set ns = namespace(i=0) %}{% set t | upper %}y"
                      "{% endset %}{% for k, v in d | dictsort recursive if v %}{% set ns.i = ns.i + loop.index %}"
                      "{% if ns.i > 3 %}{% break %}{% endif %}{% else %}{% continue %}{% endfor %}"
                      "{% with a = 1 %}{% filter title %}{{ a }}{% endfilter %}{% endwith %}{% raw %}{{ }}{% endraw %}"
                      "{% generation %}{{ t }}{% endgeneration %}{# c #}",
        "expressions": "{{ 1 + 2 * 3 ** 2 // 4 % 5 - n / 2 }}{{ l[::-1] + [n] }}{{ 1 < 2 <= 3 != 4 in l }}{{ s[1:-2] }}"
                       "{{ (1, 'b', none, true)[0] if not n is odd else -n }}{{ {'a': 1, 2.5: []}['a'] }}{{ 'x' * 3 }}"
                       "{{ '%05.1f|%-4s|%(x)s' % 2 if n > 0 }}{{ '{:>5}{x!r:^9}{0[0]}'.format(l, x=s) }}",
        "text": "{{ s | title | wordwrap(3) | indent(2, true) }}{{ s.split('-') }}{{ s | replace('a', 'b') | center(20) }}"
                "{{ s.strip().partition('b') }}{{ s | urlencode | truncate(9) }}{{ s | escape | safe }}{{ s | wordcount }}"
                "{{ s.find('b', 1) }}{{ s.zfill(9).splitlines() }}{{ s is lower }}{{ strftime_now('%d %b %Y') }}",
        "lists": "{{ l | sort | map('string') | join(',') }}{{ l | batch(2, 0) | list }}{{ l | slice(2) | list }}"
                 "{{ messages | selectattr('role', 'eq', 'user') | map(attribute='content.0.text') | first }}"
                 "{{ messages | groupby('role') }}{{ l | sum }}{{ l | max }}{{ l | unique | list }}{{ range(9, 0, -2) | list }}"
                 "{{ cycler(1, 2).next() }}{{ d.items() | list }}{{ dict(d, c=3) | length }}{{ joiner('; ')() }}",
    }
    after = b"\0" + json.dumps(variables, ensure_ascii=False).encode()
    return {name: template.encode() + after for name, template in templates.items()}


def config():
    return {
        "tables": b'[model]\npath = "m"\n[memory]\nfraction = 0.5\nmax_rows = 8\nkv_dtype = "bf16"\n',
        "inline": b"scheduling = { policy = 'window:500', decode_every = 2 }\ndevice.threads = 0x10\n",
        "strings": b'model.path = """\\\n a"b\\"c""" # it\'s\nmodel.spec = \'\'\'\n\'\'x\'\'\'\n',
        "deep": b"a." * 30 + b"a = [1.5, 2.5]\n",
    }


def rank_plan():
    """A plan whose lists are empty, and a setup with two texts."""
    lists = bytes(4 * 12)  # eleven lists and the starts
    return {"empty": struct.pack("<Qii", 1, 0, 0) + lists,
            "one": struct.pack("<Qii", 1, 0, 1) + bytes(4 * 5) + struct.pack("<Iiiii", 1, 0, 1, 0, 0) + bytes(4)
                   + struct.pack("<Iii", 1, 0, 0) + struct.pack("<Ii", 1, 5) + bytes(4 * 2)}


def trace():
    azure = b"TIMESTAMP,ContextTokens,GeneratedTokens\n"
    return {
        "azure": azure + b"2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8",
        "azure_zone": azure.replace(b"\n", b"\r\n") + b"2024-02-29 00:00:00+00:00,1,0\r\n",
        "mooncake": b'{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}\n'
                    b'{"timestamp": 27.5, "input_length": 1, "output_length": 2, "hash_ids": []}\n',
    }


def tuning():
    return {
        "ways": b"weft-tuning 1 NVIDIA H200\nbf16 12288 4096 16 flat\nq8_0 9 64 1073741824 vector\nf16 1 1 1 library\n",
        "phi": b"# night\n\nweft-tuning 1 A  GPU \r\n phi\tllama-6738415616 -1.25e2\r\nphi gemma 1e-45\n",
        "wrong": b"weft-tuning 1 GPU\nphi llama nan\n",
    }


def output_parser():
    """Two bytes choose the rows of known_calls() and known_thoughts(); the rest is an output."""
    outputs = {
        "hermes": (7, 2, '<think>a</think>b<tool_call>{"name": "f", "arguments": {"a": "x"}}</tool_call>'),
        "tagged": (1, 2, "<tool_call><function=f><parameter=a>\nx\n</parameter></function></tool_call>"),
        "value": (1, 34, "<tool_call><function=f><parameter=a>\n</parameter>x\n</parameter>\n</tool_call>\n"),
        "glm": (5, 66, "a</think><tool_call>f\n<arg_key>b</arg_key><arg_value>1</arg_value></tool_call>"),
        "hunyuan": (4, 1, "<tool_calls><tool_call>f<tool_sep><arg_key>b</arg_key><arg_value>1</arg_value></tool_call>"),
        "dsml": (13, 2, '<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="true">x'
                        "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>"),
        "mistral": (8, 3, '[THINK]a[/THINK][TOOL_CALLS]f[CALL_ID]1[ARGS]{"a": [1]}'),
        "older": (8, 3, '[TOOL_CALLS][{"name": "f", "arguments": "{}"}]'),
        "harmony": (0, 0, "<|channel|>commentary to=functions.f<|message|>{}<|call|>"),
        "header": (0, 0, "<|channel|>analysis a b<|start|>assistantfinal<|message|>c<|channel|>x<|constrain|>json"),
        "llama": (26, 2, '{"name": "now", "parameters": {}}; {"name": "f"}'),
        "python": (27, 130, "[f(a='x', b=[1, (2, None)]), now()]"),
        "lfm2": (20, 2, "<|tool_call_start|>[f(a='it's', b='\'\'x\'\'')]<|tool_call_end|>"),
        "olmo": (24, 66, "a</think><function_calls>f(a='x')\nnow()</function_calls>"),
        "command": (18, 4, 'Action:\n```json\n[{"tool_name": "f", "parameters": {}}]\n```'),
        "gemma": (21, 5, '<|channel>thought\na<channel|><|tool_call>call:f{a:<|"|>x<|"|>,b:[1,{"c":d}]}<tool_call|>'),
        "apertus": (23, 6, '<|inner_prefix|>a<|tools_prefix|>[{"f": {"a": "x"}}]<|tools_suffix|><|inner_suffix|>b'),
        "kimi": (14, 2, "<think>a<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
                        "{}<|tool_call_end|>"),
    }
    return {name: bytes(head) + text.encode() for name, (*head, text) in outputs.items()}


def stop_strings():
    return {
        "inside": b"Answer\0The Answer:\0So. The Answer is 4",
        "near_miss": b"aaab\0aab\0aaaaaaaacaabaaab",
        "characters": "\u6F22\u6F21\0\u6F23\0\u6F22\u6F22\u6F21".encode(),
    }


def tokenizer_json():
    """The smallest tokenizers of the tokenizer's own test, each with a zero byte and a text."""
    cases = json.loads((CORPUS.parent.parent / "text/data/tokenizers.json").read_text())
    seeds = {}
    for case in cases:
        text = json.dumps(case["tokenizer"], ensure_ascii=False, separators=(",", ":")).encode()
        if len(text) <= 4096:
            seeds[case["name"]] = text + "\0the quick  fox, <|end|>abc Größe\n 12".encode()
    return seeds


SAMPLING = {
    "temperature": 0.5, "top_p": 0.9, "top_k": -1, "min_p": 0.1, "typical_p": 0.9, "tfs_z": 0.9, "frequency_penalty": 1,
    "presence_penalty": -1, "repetition_penalty": 1.1, "repetition_window": 9, "dry_multiplier": 1, "dry_base": 2,
    "dry_allowed_length": 3, "dry_window": 8, "dry_sequence_breakers": ["\n", 5], "mirostat_mode": 1, "mirostat_tau": 3,
    "mirostat_eta": 0.2, "xtc_probability": 0.5, "xtc_threshold": 0.2, "dynatemp_range": 0.1, "dynatemp_exponent": 2,
    "n": 2, "best_of": 3, "seed": -1, "min_tokens": 1, "ignore_eos": True, "stop_token_ids": [7], "bad_token_ids": [8],
    "bad_words": ["ab"], "allowed_token_ids": [9], "logit_bias": {"5": -1}, "length_penalty": 2, "early_stopping": "never",
}
BEAMS = {"use_beam_search": True, "best_of": 4, "num_beams": 1, "early_stopping": True}
FSD = {"fsd_alpha": 0.5, "fsd_top_k": 3, "fsd_max_ngram": 2, "fsd_randomized": True, "fsd_random_steps": 4}


def chat_request():
    user = {"role": "user", "content": "hello"}
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    bodies = {
        "sampling": {"messages": [user], **SAMPLING},
        "beams": {"messages": [user], "max_tokens": 5, **BEAMS},
        "fsd": {"messages": [user], "max_completion_tokens": 5.0, "service_tier": "flex", "priority": -1, **FSD},
        "stream": {"model": "tiny", "messages": [user], "stream": True, "stream_options": {"include_usage": True},
                   "stop": ["a", "b"], "logprobs": True, "top_logprobs": 3, "response_format": {"type": "text"},
                   "tools": [], "tool_choice": "none", "chat_template_kwargs": {"enable_thinking": False}},
        "roles": {"messages": [{"role": "developer", "content": parts[:1]}, user, {"role": "assistant", "content": None},
                               {"role": "tool", "content": "4", "tool_call_id": "c", "name": "n"}]},
        "parts": {"messages": [{"role": "user", "content": parts}]},
        "history": {"messages": [user, {"role": "assistant", "content": "a", "reasoning_content": "b", "audio": {"id": "c"},
                                        "provider_specific_fields": {}, "thinking_blocks": []}],
                    "stream": True, "stream_options": {"continuous_usage_stats": True}, "verbosity": "low",
                    "prompt_logprobs": 0, "cache_prompt": True, "web_search_options": {}},
    }
    wrong = {"twice": b'{"messages":[{"role":"user","content":"a","role":"user"}]}',
             "large": b'{"messages":[],"logit_bias":{"1":[0,99999999999999999999]},"seed":-1e999}',
             "mark": b'\xef\xbb\xbf{"messages":[]}'}
    return {**wrong, **{name: json.dumps(body, separators=(",", ":")).encode() for name, body in bodies.items()}}


def completion_request():
    bodies = {
        "text": {"prompt": "a b", "max_tokens": 5, "logprobs": 2, **SAMPLING},
        "texts": {"prompt": ["a", "b"], "echo": True, "suffix": "", "stop": "x"},
        "tokens": {"prompt": [1, 286, 287.0], "echo": True, "skip_special_tokens": False},
        "lists": {"prompt": [[5], [6, 7]], "stream": True, "service_tier": "auto", "user": "u"},
    }
    return {name: json.dumps(body, separators=(",", ":")).encode() for name, body in bodies.items()}


def response_request():
    items = [{"type": "message", "id": "m", "status": "completed", "role": "assistant",
              "content": [{"type": "output_text", "text": "b", "annotations": [], "logprobs": []}]},
             {"role": "user", "content": [{"type": "input_text", "text": "c"}]}]
    bodies = {
        "text": {"input": "hi", "instructions": "s", "metadata": {"a": "b"}, "max_output_tokens": 4, "n": 1,
                 "temperature": 0},
        "items": {"input": items, "previous_response_id": "resp_1", "store": False, "stream": True, "top_logprobs": 2,
                  "include": ["message.output_text.logprobs"], "truncation": "disabled", "reasoning": {"effort": None},
                  "text": {"format": {"type": "text"}}, "tools": [], "tool_choice": "auto", "background": False},
        "codex": {"input": [{**items[0], "phase": "commentary"}], "include": ["reasoning.encrypted_content"],
                  "client_metadata": {"a": "b"}, "context_management": [], "text": {"verbosity": "low"}},
        "other_items": {"input": [{"type": "function_call_output", "call_id": "c", "output": "o"}]},
    }
    return {name: json.dumps(body, separators=(",", ":")).encode() for name, body in bodies.items()}


def message_request():
    user = {"role": "user", "content": "hello"}
    blocks = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b", "citations": None}]
    bodies = {
        "sampling": {"max_tokens": 5, "messages": [user], **SAMPLING},
        "blocks": {"model": "tiny", "max_tokens": 5, "system": blocks, "stream": True, "stop_sequences": ["a", "b"],
                   "messages": [{"role": "user", "content": blocks}, {"role": "assistant", "content": "c"}, user, user],
                   "metadata": {"user_id": "u"}, "tools": [], "tool_choice": {"type": "auto"}, "service_tier": "standard_only"},
        "thinking": {"max_tokens": 9, "messages": [user], "thinking": {"type": "disabled"}, "output_config": {"effort": "low"}},
        "image": {"max_tokens": 5, "messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}]},
        "prefill": {"max_tokens": 5, "messages": [user, {"role": "assistant", "content": "The"}]},
    }
    bodies["sampling"].pop("stop", None)
    return {name: json.dumps(body, separators=(",", ":")).encode() for name, body in bodies.items()}


def ollama_request():
    user = {"role": "user", "content": "hello"}
    options = {"num_predict": 5, "num_ctx": 2048, "temperature": 0.5, "top_k": 3, "repeat_penalty": 1.1, "repeat_last_n": 0,
               "mirostat": 2, "seed": -1, "stop": ["a"], "penalize_newline": True}
    bodies = {
        "chat": {"model": "tiny:latest", "messages": [{"role": "system", "content": "s"}, user], "options": options,
                 "stream": False, "keep_alive": "5m", "format": "", "think": False, "tools": []},
        "history": {"messages": [user, {"role": "assistant", "thinking": "t"}, {"role": "tool", "content": "4", "tool_name": "n"}]},
        "generate": {"model": "tiny", "prompt": "a", "system": "s", "logprobs": True, "top_logprobs": 2, "images": [], "suffix": ""},
        "raw": {"prompt": "a", "raw": True, "context": [], "truncate": True, "shift": False},
        "load": {"model": "tiny", "keep_alive": 0},
        "schema": {"prompt": "a", "format": {"type": "object"}},
    }
    return {name: json.dumps(body, separators=(",", ":")).encode() for name, body in bodies.items()}


def importance():
    def entry(name, chunks, values):
        text = name.encode()
        return (struct.pack("<i", len(text)) + text + struct.pack("<ii", chunks, len(values))
                + struct.pack(f"<{len(values)}f", *values))

    two = struct.pack("<i", 2) + entry("blk.0.attn_q.weight", 4, [8, 4, 0]) + entry("b", 0, [1])
    names = [("w.in_sum2", 0), ("w.counts", 32)]
    header = b"GGUF" + struct.pack("<IQQ", 3, 2, 0)
    for name, offset in names:
        header += struct.pack("<Q", len(name)) + name.encode() + struct.pack("<IQIQ", 1, 3 if offset == 0 else 1, 0, offset)
    header += bytes(-len(header) % 32)
    return {"old": two, "gguf": header + struct.pack("<3f", 4, 8, 0) + bytes(20) + struct.pack("<f", 4) + bytes(28)}


def sentencepiece():
    folder = Path(__file__).parents[1] / "text" / "data" / "m2m100"
    small = b"\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02\x0a\x0a\x0a\x03\xe2\x96\x81\x15\0\0\x80\xbf\x12\x02\x18\x01\x1a\x04\x18\x01 \x01"
    return {"two": small, "bpe": (folder / "bpe" / "sentencepiece.bpe.model").read_bytes()}


def json_schema():
    cases = json.loads((Path(__file__).parents[1] / "grammar" / "data" / "schema_cases.json").read_text("utf-8"))
    lenient = json.loads((Path(__file__).parents[1] / "grammar" / "data" / "schema_suite" / "draft2020-12" / "lenient.json").read_text("utf-8"))
    schemas = [case["schema"] for case in cases["cases"][::9]] + cases["refused"][::4] + [case["schema"] for case in lenient]
    return {f"schema{i}": json.dumps(schema, separators=(",", ":")).encode() for i, schema in enumerate(schemas)}


def regex():
    patterns = [r"^a{2,4}?[^b-d\w]\s*$", r"(?:x|y)+(?P<n>\u00e9)\x41.", r"[]\]a-]{3}|\d+\.\d{1,2}", r"((a*)*|b?){5}c", r"(?=a)\1\b"]
    return {f"pattern{i}": pattern.encode() for i, pattern in enumerate(patterns)}


def grammar_text():
    return {
        "gbnf": b'root ::= "a" ws [^\\]x-z]{2,} item?  # one\nitem ::= ("b" | root "c")*\nws ::= [ \\t\\n]* | .\n',
        "lark": b'?start: sum -> x\nsum: sum "+" N | N\nN.1: /[0-9]+/i | "a".."f"~2..3\n%import common (WS, INT)\n%ignore WS\n',
    }


def vector_request():
    """The first byte says which model is asked."""
    bodies = {
        "embeddings": (0, {"model": "tiny", "input": ["a", "b"], "encoding_format": "base64", "dimensions": 1, "normalize": True}),
        "tokens": (2, {"input": [[5, 6], [7]], "truncate_prompt_tokens": -1, "user": "u"}),
        "rerank": (1, {"query": "a", "documents": ["x", {"text": "y"}], "top_n": 1, "return_documents": False}),
        "cosine": (4, {"query": "a", "documents": ["x", "y"]}),
        "score": (1, {"text_1": "a", "text_2": ["x", "y"], "priority": 1}),
        "pairs": (0, {"text_1": ["a", "b"], "text_2": ["x", "y"], "cache_salt": "s"}),
        "classify": (3, {"input": "a", "use_activation": False, "service_tier": "flex"}),
        "ollama": (0, {"model": "tiny:latest", "input": ["a"], "truncate": False, "keep_alive": 0, "options": {"num_ctx": 9}}),
        "older": (0, {"model": "tiny", "prompt": "a"}),
    }
    return {name: bytes([which]) + json.dumps(body, separators=(",", ":")).encode() for name, (which, body) in bodies.items()}


def main():
    for target in (adapter_config, chat_request, checkpoint_format, checkpoint_index, completion_request, config, gguf, grammar_text, importance, jinja, json_schema, llama2c,
                   llama2c_tokenizer, message_request, ollama_request, output_parser, pickle, pickle_checkpoint, quantized, rank_plan, regex,
                   response_request, safetensors, sentencepiece, stop_strings,
                   tokenizer_json, trace, tuning, vector_request, zip):
        folder = CORPUS / target.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in target().items():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
