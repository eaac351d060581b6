#!/usr/bin/env python3
"""Writes marks.json: the assistant's tokens as transformers masks them, for the tests of {% generation %}.

make_marks.py [--check]     --check writes nothing and fails when the file would change

Needs PyPI's transformers and jinja2. The tokenizer is the demo model's.
"""

import json
import sys
from pathlib import Path

from transformers import PreTrainedTokenizerFast

HERE = Path(__file__).parent
TOKENIZER = HERE.parents[3] / "examples/demo_model/model/tokenizer.json"

# As SmolLM3 and others write it: the block has the answer and the end of its turn.
TURNS = ("{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' %}"
         "{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}{{ '\n' }}{% else %}"
         "{{ m.content }}<|im_end|>{{ '\n' }}{% endif %}{% endfor %}"
         "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
TEMPLATES = {
    "turns": TURNS,
    "within a token": "{% for m in messages %}{{ m.role }}: {% if m.role == 'assistant' %}w{% generation %}{{ m.content }}"
                      "{% endgeneration %}ing{% else %}{{ m.content }}{% endif %};{% endfor %}",
    "trimmed": "{% for m in messages %}\n{%- generation -%}\n  {{ m.content }}  \n{%- endgeneration -%}\n{% endfor %}",
    "one block for two": "{% for m in messages %}{% if loop.first %}{{ m.content }}{% endif %}{% endfor %}{% generation %}"
                         "{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }}.{% endif %}{% endfor %}"
                         "{% endgeneration %}!",
}
CONVERSATIONS = [
    [("user", "Say hello."), ("assistant", "hello")],
    [("system", "Be brief."), ("user", "Weave a cloth."), ("assistant", "Here it is: a cloth."), ("user", "Thanks"),
     ("assistant", "You are welcome")],
    [("user", "Is it é?"), ("assistant", "Yes, é it is.")],
]


def rows():
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZER))
    for name, template in TEMPLATES.items():
        for turns in CONVERSATIONS:
            messages = [{"role": role, "content": content} for role, content in turns]
            made = tokenizer.apply_chat_template(messages, chat_template=template, return_dict=True,
                                                 return_assistant_tokens_mask=True)
            yield {"name": name, "template": template, "messages": messages, "ids": made["input_ids"],
                   "mask": made["assistant_masks"]}


def main() -> None:
    text = "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows()) + "\n]\n"
    path = HERE / "marks.json"
    if "--check" not in sys.argv:
        path.write_text(text)
    elif path.read_text() != text:
        sys.exit(f"{path} is not what transformers gives")


if __name__ == "__main__":
    main()
