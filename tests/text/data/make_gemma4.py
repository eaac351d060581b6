#!/usr/bin/env python3
"""Writes gemma4.json beside it: a tiny tokenizer of Gemma 4's kind, and what Hugging Face's `tokenizers` makes of our texts.

Run by hand: pip install tokenizers && tests/text/data/make_gemma4.py. The tables are those that llama.cpp's converter
writes into a GGUF file (`tokenizer.ggml.model = gemma4`): tokens as they are, spaces as U+2581, all bytes, and merges.
"""

import json
from pathlib import Path

from make_cases import SENTENCES, TEXTS
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

SPECIAL = ["<unk>", "<bos>", "<turn|>", "<|channel>", "<|tool_response>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def shape(tokenizer):
    """Lines and runs of line breaks, in which spaces are marks, whatever the words."""
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^\n]+|\n+"), "isolated")
    return tokenizer


def main():
    trained = shape(Tokenizer(models.BPE(unk_token="<unk>")))
    text = [sentence + "\n\n" for sentence in SENTENCES for _ in range(3)]
    trained.train_from_iterator(text, trainers.BpeTrainer(vocab_size=180, special_tokens=["<unk>"], show_progress=False))
    model = json.loads(trained.to_str())["model"]
    learnt = sorted((one for one in model["vocab"] if one != "<unk>"), key=model["vocab"].get)
    tokens = SPECIAL + BYTES + learnt
    merges = [tuple(pair) for pair in model["merges"]]
    ids = {token: i for i, token in enumerate(tokens)}
    whole = shape(Tokenizer(models.BPE(ids, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)))
    # Marks in a text become spaces when it is put together again.
    cases = [{"text": text, "ids": whole.encode(text).ids} for text in [*SENTENCES, *TEXTS, "\n\n\n", "a\n \n\nb"]
             if "▁" not in text and not any(name in text for name in SPECIAL)]
    result = {"tokens": tokens, "merges": [" ".join(pair) for pair in merges], "cases": cases}
    path = Path(__file__).parent / "gemma4.json"
    path.write_text(json.dumps(result, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
