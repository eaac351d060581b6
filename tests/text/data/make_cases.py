#!/usr/bin/env python3
"""Writes parts.json and tokenizers.json beside it: what Hugging Face's `tokenizers` makes of our texts.

Run by hand when a case is added: pip install tokenizers && tests/text/data/make_cases.py. The tests read the two files
only. parts.json has normalizers, pre-tokenizers and decoders one by one, in odd settings; tokenizers.json has tiny
tokenizers of each kind, trained here on the sentences below, with added tokens and post-processors.
"""

import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).parent

SENTENCES = [
    "The quick brown fox jumps over the lazy dog, and the dog sleeps on.",
    "A tokenizer turns text into tokens; tokens turn into text again.",
    "She sells sea shells by the sea shore, doesn't she? They're hers!",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "In 2024 there were 365 days, 12 months and 52 weeks: 3.14159 is pi.",
]

TEXTS = [
    "",
    " ",
    "Hello world",
    "  two  spaces and a tab\t. ",
    "don't DON'T we're I'll 'twas O'Neill'S",
    "1234567 12 3.14 ½ ² ⅷ ١٢٣",
    "line\n\n  next\r\n\tthird\n",
    "naïve café résumé Å ﬁ ﬀ İstanbul ΣΑΣ ß",
    "e\u0301 a\u0308\u0323 \u0323\u0308 n\u0303o",
    "漢字かなカナ、한국어 中文abc",
    "🚀👨\u200d👩\u200d👧 🏳️\u200d🌈!",
    "\u200bzero\ufeffwidth\u00a0nbsp\u3000wide\u2028line\u0085nel",
    "control\u0001\u0007 and\u007f del \ufffd",
    "a.b,c!d?e;f:(g)[h]{i}<j>/k\\l|m@n#o$p%q^r&s*t_u-v+w=x~y`z\"'",
    "▁already ▁▁there▁",
    "<s>markup</s> [CLS] <|end|> ##tail",
    "x" * 40 + " " + "ab" * 30,
]


def state(part):
    return json.loads(part.__getstate__())


def normalizer_cases():
    n = normalizers
    parts = [
        n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Lowercase(), n.StripAccents(), n.Strip(), n.Strip(left=False, right=True),
        n.Strip(left=True, right=False), n.Replace("a", "bb"), n.Replace(Regex(r"\s+"), " "), n.Replace(Regex("[aeiou&&[^e]]"), ""),
        n.Prepend("▁"), n.Nmt(), n.ByteLevel(), n.BertNormalizer(),
        n.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False),
        n.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=True),
        n.Sequence([n.NFKD(), n.StripAccents(), n.Sequence([n.Lowercase(), n.Strip()])]),
        n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")]),
    ]
    return [{"spec": state(p), "cases": [[t, p.normalize_str(t)] for t in TEXTS]} for p in parts]


def pre_tokenizer_cases():
    p = pre_tokenizers
    parts = [
        p.ByteLevel(), p.ByteLevel(add_prefix_space=False), p.ByteLevel(add_prefix_space=False, use_regex=False),
        p.Whitespace(), p.WhitespaceSplit(), p.BertPreTokenizer(), p.Digits(), p.Digits(individual_digits=True),
        p.CharDelimiterSplit("e"), p.FixedLength(3), p.UnicodeScripts(), p.Metaspace(),
        p.Metaspace(replacement="_", prepend_scheme="never"), p.Metaspace(prepend_scheme="first", split=False),
        p.Metaspace(prepend_scheme="first"),
        p.Sequence([p.WhitespaceSplit(), p.Metaspace(prepend_scheme="first")]),
        p.Sequence([p.Whitespace(), p.Digits(individual_digits=True), p.Punctuation("removed")]),
        p.Sequence([p.Split(Regex(r"\p{N}{1,3}"), "isolated"), p.ByteLevel(use_regex=False)]),
        p.Split(Regex(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
                      r"|\s+(?!\S)|\s+"), "isolated"),
        p.Split(Regex(r"[\p{L}&&[^a-m]]+|[0-9[αβ]]|\h$"), "isolated"),
        p.Split(Regex(r"\w+|(?m:.)\b"), "removed", invert=True),
    ]
    for behavior in ["isolated", "removed", "contiguous", "merged_with_previous", "merged_with_next"]:
        parts.append(p.Punctuation(behavior))
        parts.append(p.Split(" ", behavior))
        parts.append(p.Split(Regex("[aeiou ]"), behavior, invert=True))
    return [{"spec": state(p), "cases": [[t, [x for x, _ in p.pre_tokenize_str(t)]] for t in TEXTS]} for p in parts]


TOKEN_LISTS = [
    [],
    ["Ġthe", "Ġdog", ".", "Ċ", "Ã©", "Ã", "é", "<|end|>", " raw"],
    ["▁the", "▁▁do", "g", "▁.", "<0x0A>", "▁", "▁x"],
    ["<0xE4>", "<0xBD>", "<0xA0>", "▁a", "<0xE4>", "b", "<0xF0>", "<0x9F>", "<0x9A>", "<0x80>", "<0x80>"],
    ["the", "##re", "do", "n", "'", "t", "is", "##n't", ".", "!", " , ", "do not", "##", "we", "'ve"],
    ["the</w>", "do", "g</w>", "</w>", ".</w>"],
    ["h", "h", "<pad>", "h", "e", "|", "|", "y", "<pad>", "<pad>", "."],
    [" a", "a ", " ", "", "  b", "c  "],
]


def decoder_cases():
    d = decoders
    parts = [
        d.ByteLevel(), d.WordPiece(), d.WordPiece(prefix="", cleanup=False), d.Metaspace(), d.Metaspace(prepend_scheme="never"),
        d.BPEDecoder(), d.CTC(), d.CTC(cleanup=False), d.Fuse(), d.ByteFallback(), d.Replace("▁", " "),
        d.Replace(Regex("[aeiou]+"), "*"),
        d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)]),
        d.Sequence([d.ByteFallback(), d.Metaspace()]),
        d.Sequence([d.Fuse(), d.Strip(" ", 1, 0)]),
        d.Sequence([d.Fuse(), d.Strip(" ", 0, 2)]),
    ]
    return [{"spec": state(p), "cases": [[t, p.decode(t)] for t in TOKEN_LISTS if t]} for p in parts]


def byte_level_bpe():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=340, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                         special_tokens=["<s>", "</s>"]))
    t.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    t.add_special_tokens(["<|end|>"])
    t.add_tokens([AddedToken("sleep", single_word=True), AddedToken("dog", lstrip=True), AddedToken("fox", rstrip=True),
                  AddedToken("  ", normalized=True)])
    return t


def fallback_bpe():
    base = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + list("▁abcdefghijklmnopqrstuvwxyzHTS.,")
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("▁", "a"), ("o", "g"), ("d", "og"), ("▁", "dog"), ("e", "r"), ("▁", "▁"),
              ("s", "h"), ("sh", "e"), ("l", "l")]
    vocab = {token: i for i, token in enumerate(base + [a + b for a, b in merges])}
    t = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    t.add_special_tokens([AddedToken("<s>", normalized=False), AddedToken("</s>", normalized=False, rstrip=True)])
    return t


def unknown_bpe(fuse):
    merges = [("a", "b"), ("ab", "c"), ("b", "c")]
    vocab = {token: i for i, token in enumerate(["<unk>", "a", "b", "c", " ", "ab", "abc", "bc"])}
    t = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=fuse))
    t.decoder = decoders.Fuse()
    return t


def affix_bpe():
    t = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Lowercase()
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.decoder = decoders.BPEDecoder()
    t.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=150, special_tokens=["<unk>"], end_of_word_suffix="</w>",
                                                         continuing_subword_prefix="##"))
    return t


def whole_word_bpe():
    merges = [("l", "o"), ("w", "o")]
    vocab = {token: i for i, token in enumerate(["l", "o", "w", "r", "d", "lo", "wo", "world", "Ġ", "<|end|>"])}
    t = Tokenizer(models.BPE(vocab, merges, ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(["<|end|>"])
    return t


def unigram(byte_fallback):
    pieces = [("<unk>", 0.0), ("</s>", 0.0)]
    pieces += [(c, -6.0 - 0.01 * i) for i, c in enumerate("▁abcdefghijklmnopqrstuvwxyz.,'")]
    pieces += [("▁the", -3.0), ("▁a", -3.25), ("he", -4.5), ("ell", -4.75), ("▁s", -4.0), ("lls", -5.5), ("shells", -6.5), ("字", -7.0)]
    if byte_fallback:
        pieces += [(f"<0x{b:02X}>", -20.0) for b in range(256)]
    t = Tokenizer(models.Unigram(pieces, 0, byte_fallback))
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]) if byte_fallback else decoders.Metaspace()
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    t.add_special_tokens(["</s>"])
    return t


def wordpiece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=24))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=160, special_tokens=["[UNK]", "[CLS]", "[SEP]"]))
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return t


def word_level():
    vocab = {word: i for i, word in enumerate(["[UNK]", "the", "dog", "Hello", "world", ".", ",", "'"])}
    t = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.post_processor = processors.Sequence([
        processors.ByteLevel(),
        processors.TemplateProcessing(single="the dog $A .", special_tokens=[("the", 1), ("dog", 2), (".", 5)])])
    return t


def tokenizer_cases():
    made = {
        "byte_level_bpe": byte_level_bpe(), "fallback_bpe": fallback_bpe(), "unknown_bpe": unknown_bpe(False),
        "fused_unknown_bpe": unknown_bpe(True), "affix_bpe": affix_bpe(), "whole_word_bpe": whole_word_bpe(),
        "unigram": unigram(False), "fallback_unigram": unigram(True), "wordpiece": wordpiece(), "word_level": word_level(),
    }
    texts = TEXTS + SENTENCES + ["the dog  sleeps, sleep asleep sleep.", " dogfox  dog fox\n x", "<|end|><|end|> the </s>  dog <s>",
                                 "aabbccabcab xyz abc", "low world lo", "the shells, he sells 字字 €", "[CLS] [UNK] a"]
    out = []
    for name, t in made.items():
        cases = []
        for text in texts:
            ids = t.encode(text, add_special_tokens=False).ids
            around = t.encode(text).ids
            t.encode_special_tokens = True
            plain = t.encode(text, add_special_tokens=False).ids
            t.encode_special_tokens = False
            cases.append({"text": text, "ids": ids, "around": around, "plain": plain, "decoded": t.decode(around, skip_special_tokens=False),
                          "skipped": t.decode(around, skip_special_tokens=True)})
        out.append({"name": name, "tokenizer": json.loads(t.to_str()), "cases": cases})
    return out


def write(name, content):
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    (HERE / name).write_text(text.replace('},{"spec"', '},\n{"spec"').replace('},{"name"', '},\n{"name"').replace('},{"text"', '},\n{"text"') + "\n")


if __name__ == "__main__":
    write("parts.json", {"normalizers": normalizer_cases(), "pre_tokenizers": pre_tokenizer_cases(), "decoders": decoder_cases()})
    write("tokenizers.json", tokenizer_cases())
