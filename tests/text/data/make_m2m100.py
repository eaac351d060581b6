#!/usr/bin/env python3
"""Writes m2m100/: for each kind of SentencePiece model a folder as M2M100's are, and in cases.json what transformers makes
of texts.

    python3 -m venv venv && venv/bin/pip install transformers==5.23 sentencepiece==0.2.3 protobuf
    venv/bin/python tests/text/data/make_m2m100.py tests/text/data/m2m100
"""
import io
import json
import os
import random
import shutil
import sys

import sentencepiece
from transformers import M2M100Tokenizer

WORDS = ("the a of and to in is it that was he for on are with as his they be at one have this from or had by hot word "
         "but what some we can out other were all there when up use your how said an each she which do their time "
         "caf\u00e9 na\u00efve stra\u00dfe \u00fcber gar\u00e7on \u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440 "
         "\u4f60\u597d \u4e16\u754c 12 345 2024").split()
TEXTS = ["the word is here", "He said: it's hot, isn't it?", "  two  spaces   ", "", " ", "caf\u00e9 na\u00efve",
         "\u043f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "\u4f60\u597d\u4e16\u754c", "zzz\U0001F600\U0001F680 unknown \u2603",
         "line\nline\ttab", "2024-12-31", "\uff21\uff22 \ufb01ne \u00bd", "the</s>of", "a" * 60]


def train(kind, rule):
    random.seed(7)
    lines = (" ".join(random.choices(WORDS, k=12)) for _ in range(400))
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=model, model_type=kind, vocab_size=100, character_coverage=1.0,
        normalization_rule_name=rule, minloglevel=2)
    return model.getvalue()


def write_json(path, value, **style):
    with open(path, "w") as file:
        file.write(json.dumps(value, **style) + "\n")


def make(folder, kind):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    model = train(kind, "identity")
    with open(f"{folder}/sentencepiece.bpe.model", "wb") as file:
        file.write(model)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
    plain = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size()) if not pieces.is_control(i)]
    names = ["<s>", "<pad>", "</s>", "<unk>"] + sorted(set(plain) - {"<unk>"})
    write_json(f"{folder}/vocab.json", {name: i for i, name in enumerate(names)})
    write_json(f"{folder}/tokenizer_config.json", {"src_lang": "de"})
    tokenizer = M2M100Tokenizer(f"{folder}/vocab.json", f"{folder}/sentencepiece.bpe.model", src_lang="de")
    cases = [{"text": text, "ids": tokenizer(text).input_ids} for text in TEXTS]
    languages = {name: tokenizer.get_lang_id(name) for name in ("af", "de", "zu")}
    write_json(f"{folder}/cases.json", {"cases": cases, "languages": languages}, indent=0)


if __name__ == "__main__":
    for each in ("unigram", "bpe"):
        make(os.path.join(sys.argv[1], each), each)
