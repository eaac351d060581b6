"""Writes random models of each family that are wide enough for every encoding, with tokenizers, as GGUF files.

    wide_models.py                        lists the cases
    wide_models.py SOURCES CASE FILE      writes one by the converter in llama.cpp's sources
"""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "data"))

import make_goldens  # noqa: E402
import make_gguf  # noqa: E402

ROWS, WIDTH, HEAD, HIDDEN, CONTEXT = 320, 256, 64, 512, 256
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]

# What the fields of the tiny checkpoints' configs become. Blocks have 256 numbers.
FIELDS = {
    "vocab_size": ROWS, "padded_vocab_size": ROWS,
    "hidden_size": WIDTH, "n_embd": WIDTH, "d_model": WIDTH,
    "head_dim": HEAD, "d_kv": HEAD, "kv_channels": HEAD, "query_pre_attn_scalar": HEAD, "rotary_dim": HEAD // 2,
    "intermediate_size": HIDDEN, "ffn_hidden_size": HIDDEN, "n_inner": HIDDEN, "d_ff": HIDDEN,
    "moe_intermediate_size": HIDDEN, "shared_intermediate_size": HIDDEN, "shared_expert_intermediate_size": HIDDEN,
    "max_position_embeddings": CONTEXT, "n_positions": CONTEXT, "n_ctx": CONTEXT, "max_seq_len": CONTEXT,
    "seq_length": CONTEXT,
    "sliding_window": 16,
}

# Families whose models come with a SentencePiece tokenizer; the others' are byte-level.
SENTENCEPIECE = {"ernie4_5", "ernie4_5_moe", "gemma", "gemma2", "gemma3", "llama", "llama-yarn", "mixtral", "phi3",
                 "phi3-longrope", "phimoe"}
# tokenizer.ggml.pre as the converter states it for published models of the family.
PRE = {
    "afmoe": "afmoe", "arcee": "llama-bpe", "bloom": "bloom", "chatglm": "chatglm-bpe", "cohere": "command-r",
    "cohere2": "command-r", "cohere2_moe": "command-r", "dbrx": "dbrx", "dots1": "qwen2", "exaone4": "exaone4",
    "exaone_moe": "exaone-moe", "falcon": "falcon", "falcon-groups": "falcon", "glm": "glm4", "glm4": "glm4",
    "glm4_moe": "glm4", "gpt_bigcode": "starcoder", "gpt_neox": "olmo", "gpt_neox-sequential": "olmo",
    "gpt_oss": "gpt-4o", "granite": "refact", "granite_swa": "refact", "granitemoe": "refact",
    "granitemoe_swa": "refact", "granitemoeshared": "refact", "hunyuan": "hunyuan-dense", "hunyuan_moe": "hunyuan",
    "jais2": "jais-2", "laguna": "laguna", "llama-biases": "llama-bpe", "llama-llama3": "llama-bpe",
    "mellum": "mellum2", "minimax_m2": "minimax-m2", "ministral3": "tekken", "mpt": "mpt", "nemotron": "default",
    "olmo": "olmo", "olmo2": "dbrx", "olmo3": "dbrx", "olmoe": "olmo", "phi": "phi-2", "phi-tied": "phi-2",
    "qwen2": "qwen2", "qwen2_moe": "qwen2", "qwen3": "qwen2", "qwen3_moe": "qwen2", "seed_oss": "seed-coder",
    "smollm3": "smaug-bpe", "solar_open": "solar-open", "stablelm": "stablelm2", "stablelm-parallel": "stablelm2",
    "starcoder2": "starcoder",
}


# Where llama.cpp expects other sizes, and what it does in released models alone or not at all: norms on heads, windows.
CHANGED = {
    "cohere": dict(use_qk_norm=False),
    "dots1": dict(num_key_value_heads=4),
    "ernie4_5_moe": dict(intermediate_size=4 * HIDDEN),
    "exaone4": dict(sliding_window=None, layer_types=["full_attention"] * 2),
    "falcon": dict(ffn_hidden_size=4 * WIDTH),
    "falcon-groups": dict(ffn_hidden_size=4 * WIDTH),
    "gpt2": dict(n_inner=4 * WIDTH),
    "gpt_bigcode": dict(n_inner=4 * WIDTH),
    "olmoe": dict(num_key_value_heads=4),
    "phi": dict(intermediate_size=4 * WIDTH),
    "phi-tied": dict(intermediate_size=4 * WIDTH),
    "phi3": dict(sliding_window=None),
}


def widened(fields):
    wide = {}
    for key, value in fields.items():
        if isinstance(value, dict):
            value = widened(value)
        elif isinstance(value, list) and key.endswith("_factor"):
            value = [value[0] + i / HEAD for i in range(HEAD // 2)]
        elif key == "original_max_position_embeddings":
            value *= 2  # fewer than the text has tokens, so that all of it has the angles of long requests
        elif value is not None and key in FIELDS:
            value = [FIELDS[key]] * len(value) if isinstance(value, list) else FIELDS[key]
        wide[key] = value
    return wide


def wide_case(name):
    kind, model_type, fields = make_gguf.fields_of(name)
    fields = {**widened(fields), **CHANGED.get(name, {})}
    return kind, model_type, fields


def byte_alphabet():
    """GPT-2's printable characters for the bytes 0 .. 255."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(b if b in printable else next(spare)) for b in range(256)]


def pairs(space):
    """Words of two letters, so many as fill the table."""
    words = [a + b for a in (space, "t", "a", "e") for b in "abcdefghijklmnopqrst"]
    return words[:ROWS - len(SPECIALS) - 256]


def byte_level(writer, name):
    words = pairs("\u0120")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(PRE.get(name.removesuffix(make_gguf.FUSED), "gpt-2"))
    writer.add_token_list(SPECIALS + byte_alphabet() + words)
    writer.add_token_types([3] * len(SPECIALS) + [1] * (256 + len(words)))
    writer.add_token_merges([f"{word[0]} {word[1]}" for word in words])


def sentencepiece(writer, name):
    words = [*"abcdefghijklmnopqrstuvwxyz.,", "\u2581", *pairs("\u2581")][:ROWS - len(SPECIALS) - 256]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(SPECIALS + [f"<0x{b:02X}>" for b in range(256)] + words)
    writer.add_token_scores([0.0] * (len(SPECIALS) + 256) + [-float(i) for i in range(len(words))])
    writer.add_token_types([3, 3, 3, 2] + [6] * 256 + [1] * len(words))


def word_piece(writer, name):
    letters = "abcdefghijklmnopqrstuvwxyz.,"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *["\u2581" + c for c in letters], *letters]
    tokens += ["\u2581" + a + b for a in letters for b in letters][:ROWS - len(tokens)]
    writer.add_tokenizer_model("bert")
    writer.add_token_type_count(2)
    writer.add_token_list(tokens)
    writer.add_token_types([3] * 5 + [1] * (ROWS - 5))
    writer.add_unk_token_id(1)
    writer.add_bos_token_id(2)
    writer.add_uint32("tokenizer.ggml.cls_token_id", 2)
    writer.add_sep_token_id(3)
    writer.add_mask_token_id(4)


def unigram(writer, name):
    words = ["\u2581", *"abcdefghijklmnopqrstuvwxyz.,", *pairs("\u2581")]
    words += [a + b + c for a in "xyz" for b in "abcdefghijkl" for c in "abcdefghij"]
    words = words[:ROWS - 3]
    writer.add_tokenizer_model("t5")
    writer.add_add_space_prefix(True)
    writer.add_tokenizer_pre("default")
    writer.add_token_list(["<pad>", "</s>", "<unk>"] + words)
    writer.add_token_scores([0.0, 0.0, 0.0] + [-float(i) / 10 for i in range(len(words))])
    writer.add_token_types([3, 3, 2] + [1] * len(words))
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)


def tokenizer(writer, name):
    if name in ("bert", "roberta"):
        word_piece(writer, name)
        return
    if name in ("t5", "umt5"):
        unigram(writer, name)
        return
    (sentencepiece if name in SENTENCEPIECE else byte_level)(writer, name)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(3)
    writer.add_add_bos_token(True)


def write(sources, name, path):
    """Writes the wide model of a case of make_gguf.py with its numbers in float32."""
    make_gguf.use_converter(sources)
    make_gguf.PUBLISHED[name] = widened(make_gguf.PUBLISHED.get(name, {}))
    with tempfile.TemporaryDirectory() as checkpoint:
        make_gguf.make_checkpoint(checkpoint, name, wide_case(name))
        make_gguf.convert(checkpoint, name, path, "ALL_F32", tokenizer)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("\n".join(make_gguf.CASES))
    else:
        write(*sys.argv[1:])
