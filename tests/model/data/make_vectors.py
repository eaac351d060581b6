#!/usr/bin/env python3
"""Writes vectors/: very small random checkpoints that give vectors, scores or tokens for masks, and what they should give.

    python3 -m venv venv && venv/bin/pip install torch==2.15 transformers==5.23 sentence-transformers==6.2
    venv/bin/python tests/model/data/make_vectors.py tests/model/data/vectors [CASE ...]

A case is a folder in Hugging Face layout with weights in float16 and a tokenizer of words, and expected.json: a list of
inputs, each a text or two, with the tokens that the reference makes of it and the vector, in float32 with the same rounded
weights. Embeddings are sentence-transformers' (SentenceTransformer.encode), scores transformers' before any activation,
tokens for masks those of transformers' pipeline "fill-mask".
"""
import json
import os
import shutil
import sys

import torch
from make_goldens import randomize
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer, models
from tokenizers import Tokenizer, models as token_models, pre_tokenizers, processors
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification
from transformers import PreTrainedTokenizerFast, pipeline

WORDS = "a b c d e f g h i j k l m n o p q r s t u v w x y z".split()
SPECIAL = {"bert": ["[PAD]", "[CLS]", "[SEP]", "[UNK]"], "masked": ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"],
           "roberta": ["<s>", "<pad>", "</s>", "<unk>"], "decoder": ["<pad>", "<s>", "</s>", "<unk>"]}
SIZES = dict(vocab_size=32, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
             max_position_embeddings=64)
ROBERTA = dict(SIZES, pad_token_id=1, bos_token_id=0, eos_token_id=2, type_vocab_size=1, max_position_embeddings=66)
MODERNBERT = dict(SIZES, num_hidden_layers=3, local_attention=8, global_attn_every_n_layers=2, pad_token_id=0,
                  cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2)
DECODER = dict(SIZES, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
TEXTS = ["a", "b c d e", "the x y z a b c", "q w e r t y u i o p a s d f g h j k l z x c v b n m q w e r t y"]
MASKED = ["a [MASK] c", "[MASK]", "b [MASK] d [MASK] f g", "q w e r t y u i o p a s d f g h j k l [MASK] z x c v"]
PAIRS = [("a b", "c"), ("a", "b c d e f g h i j"), ("x y z", "z y x w v u")]

# case: (tokens, model_type, config, what it gives)
CASES = {
    "bert-mean": ("bert", "bert", SIZES, dict(pooling="mean", unit=True, tokens=20)),
    "roberta-dense": ("roberta", "roberta", ROBERTA, dict(pooling="cls", dense=8, older=True)),
    "xlm-roberta-plain": ("roberta", "xlm-roberta", ROBERTA, dict(pooling="mean", unit=True, plain=True)),
    "qwen3-last": ("decoder", "qwen3", dict(DECODER, head_dim=4), dict(pooling="lasttoken", unit=True)),
    "llama-weighted": ("decoder", "llama", DECODER, dict(pooling="weightedmean", unit=False)),
    "distilbert-cls": ("bert", "distilbert", dict(vocab_size=32, dim=16, n_layers=2, n_heads=4, hidden_dim=24,
                                                  max_position_embeddings=64), dict(pooling="cls", unit=True)),
    "mpnet-mean": ("roberta", "mpnet", dict(ROBERTA), dict(pooling="mean", unit=True)),
    "nomic-mean": ("bert", "nomic_bert", SIZES, dict(pooling="mean", unit=True)),
    "modernbert-mean": ("modernbert", "modernbert", MODERNBERT, dict(pooling="mean", unit=True)),
    "bert-masked": ("masked", "bert", dict(SIZES, vocab_size=31), dict(masks=3)),
    "bert-reranker": ("bert", "bert", dict(SIZES, num_labels=1), dict(labels=1)),
    "roberta-classifier": ("roberta", "roberta", dict(ROBERTA, num_labels=3), dict(labels=3)),
    "modernbert-classifier": ("modernbert", "modernbert", dict(MODERNBERT, num_labels=3), dict(labels=3)),
    "llama-classifier": ("decoder", "llama", dict(DECODER, num_labels=2), dict(labels=2)),
}


def tokenizer(kind):
    special = SPECIAL["bert" if kind == "modernbert" else kind]
    vocabulary = {word: i for i, word in enumerate(special + WORDS)}
    one = Tokenizer(token_models.WordLevel(vocabulary, unk_token=special[3]))
    one.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    one.add_special_tokens(special)
    if kind in ("bert", "masked", "modernbert"):
        ids = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
        one.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids)
        names = dict(pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]")
        if kind == "masked":
            names["mask_token"] = "[MASK]"
    elif kind == "roberta":
        one.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
        names = dict(pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>", cls_token="<s>",
                     sep_token="</s>")
    else:
        one.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A $B:1 </s>:1",
                                                           special_tokens=[("</s>", 2)])
        names = dict(pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    inputs = ["input_ids", "attention_mask"]
    if kind in ("bert", "masked"):
        inputs.insert(1, "token_type_ids")
    return PreTrainedTokenizerFast(tokenizer_object=one, model_max_length=64, model_input_names=inputs, **names)


def make_embedder(folder, gives, base, words):
    words.model_max_length = gives.get("tokens", 64)
    base.half().save_pretrained(folder + ".base")
    words.save_pretrained(folder + ".base")
    transformer = models.Transformer(folder + ".base", model_args=dict(dtype=torch.float32))
    parts = [transformer, models.Pooling(base.config.hidden_size, gives["pooling"])]
    if "dense" in gives:
        dense = models.Dense(base.config.hidden_size, gives["dense"])
        with torch.no_grad():
            for tensor in dense.parameters():
                tensor.copy_(tensor.half().float())
        parts.append(dense)
    if gives.get("unit"):
        parts.append(models.Normalize())
    whole = SentenceTransformer(modules=parts, device="cpu")
    whole.eval()
    vectors = whole.encode(TEXTS, batch_size=1, convert_to_numpy=True)
    whole.save(folder, create_model_card=False)
    if gives.get("plain"):  # as transformers alone saves it
        for name in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
            os.remove(f"{folder}/{name}")
        shutil.rmtree(f"{folder}/1_Pooling")
        shutil.rmtree(f"{folder}/2_Normalize")
    if gives.get("older"):  # as versions before 6 say the same, and most models that there are
        with open(f"{folder}/1_Pooling/config.json", "w") as file:
            file.write(json.dumps(dict(word_embedding_dimension=16, pooling_mode_cls_token=True,
                                       pooling_mode_mean_tokens=False)) + "\n")
        with open(f"{folder}/sentence_bert_config.json", "w") as file:
            file.write(json.dumps(dict(max_seq_length=64, do_lower_case=False)) + "\n")
    shutil.rmtree(folder + ".base")
    expected = []
    for text, vector in zip(TEXTS, vectors):
        ids = words(text, truncation=True, max_length=words.model_max_length)["input_ids"]
        expected.append(dict(text=text, tokens=ids, vector=[float(x) for x in vector]))
    return expected


def make_classifier(folder, model, words):
    expected = []
    with torch.no_grad():
        for texts in [(text,) for text in TEXTS[:3]] + PAIRS:
            given = words(*texts, return_tensors="pt")
            logits = model(**given).logits[0]
            one = dict(text=texts[0], tokens=given["input_ids"][0].tolist(), vector=logits.tolist())
            if len(texts) > 1:
                one["second"] = texts[1]
            expected.append(one)
    model.half().save_pretrained(folder)
    words.save_pretrained(folder)
    return expected


def make_masked(folder, model, words, count):
    fill = pipeline("fill-mask", model=model, tokenizer=words, top_k=count, device="cpu")
    expected = []
    for text in MASKED:
        masks = fill(text)
        expected.append(dict(text=text, tokens=words(text)["input_ids"],
                             masks=masks if isinstance(masks[0], list) else [masks]))
    model.half().save_pretrained(folder)
    words.save_pretrained(folder)
    return expected


def half_weights(folder):
    """sentence-transformers saves what it has loaded, in float32: the same numbers in half of the room."""
    file = f"{folder}/model.safetensors"
    save_file({n: t.half().contiguous() for n, t in load_file(file).items()}, file, {"format": "pt"})


def make(folder, name):
    kind, model_type, fields, gives = CASES[name]
    generator = torch.Generator().manual_seed(sum((i + 1) * ord(c) for i, c in enumerate(name)))
    torch.manual_seed(1)
    config = AutoConfig.for_model(model_type, **fields)
    config._attn_implementation = "eager"
    maker = AutoModelForSequenceClassification if "labels" in gives else AutoModel
    if "masks" in gives:
        maker = AutoModelForMaskedLM
    model = maker.from_config(config).float().eval()
    randomize(model, name, generator)
    shutil.rmtree(folder, ignore_errors=True)
    words = tokenizer(kind)
    if "labels" in gives:
        expected = make_classifier(folder, model, words)
    elif "masks" in gives:
        expected = make_masked(folder, model, words, gives["masks"])
    else:
        expected = make_embedder(folder, gives, model, words)
        half_weights(folder)
    for extra in ("generation_config.json", "README.md"):
        if os.path.exists(f"{folder}/{extra}"):
            os.remove(f"{folder}/{extra}")
    for place, _, files in os.walk(folder):
        for file_name in files:
            path = os.path.join(place, file_name)
            if file_name.endswith(".json") and not open(path).read().endswith("\n"):
                with open(path, "a") as file:
                    file.write("\n")
    with open(f"{folder}/expected.json", "w") as file:
        file.write(json.dumps(expected) + "\n")


if __name__ == "__main__":
    root = sys.argv[1]
    torch.set_num_threads(1)
    for case in sys.argv[2:] or CASES:
        make(os.path.join(root, case), case)
        print(case, flush=True)
