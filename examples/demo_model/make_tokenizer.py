#!/usr/bin/env python3
"""Trains the byte-level BPE tokenizer on the corpus and writes the files that Hugging Face tools load.

    make_tokenizer.py model

Needs the package `tokenizers`. Words are split as Qwen2 splits them (each digit alone), because every runtime knows it.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from make_corpus import documents
from render import END_OF_TEXT, IM_END, IM_START, MAX_LENGTH, SYSTEM, content, offered

VOCABULARY = 2048
DOCUMENTS = 30000  # of the training corpus; more of them change no merge that matters
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")
# Arguments of calls are objects, as json.dumps and Jinja's tojson write them; a result is a turn of the role "tool".
CHAT_TEMPLATE = (
    f"{{{{- '{IM_START}system\\n' }}}}"
    "{%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] | trim }}"
    f"{{%- else %}}{{{{- '{SYSTEM}' }}}}{{%- endif %}}"
    "{%- if tools %}{{- '\\n\\n# Tools' }}"
    "{%- for tool in tools %}{{- '\\n' + tool['function'] | tojson }}{%- endfor %}{%- endif %}"
    f"{{{{- '{IM_END}\\n' }}}}"
    "{%- for message in messages %}{%- if message['role'] != 'system' or not loop.first %}"
    f"{{{{- '{IM_START}' + message['role'] + '\\n' }}}}"
    "{%- if message['content'] %}{{- message['content'] | trim }}{%- endif %}"
    "{%- for call in message['tool_calls'] or [] %}"
    "{%- if message['content'] or not loop.first %}{{- '\\n' }}{%- endif %}"
    "{{- '<tool_call>\\n{\"name\": \"' + call['function']['name'] + '\", \"arguments\": ' }}"
    "{{- call['function']['arguments'] | tojson + '}\\n</tool_call>' }}"
    "{%- endfor %}"
    f"{{{{- '{IM_END}\\n' }}}}"
    "{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}"
    f"{{{{- '{IM_START}assistant\\n' }}}}"
    "{%- endif %}")


def texts() -> Iterator[str]:
    """All that the model reads, without the marks between turns."""
    for document in documents(seed=1, shard=0, count=DOCUMENTS):
        yield from (f"{m['role']}\n{content(m)}" for m in document.get("messages", []))
        yield document.get("text", SYSTEM) + offered(document.get("tools", []))


def trained() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts(), trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END_OF_TEXT, IM_START, IM_END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    return tokenizer


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(trained().to_str(pretty=True) + "\n")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": MAX_LENGTH,
        "add_bos_token": False, "add_prefix_space": False, "bos_token": None, "eos_token": IM_END,
        "pad_token": END_OF_TEXT, "unk_token": None, "clean_up_tokenization_spaces": False, "chat_template": CHAT_TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main()
