#!/usr/bin/env python3
"""Trains a small LoRA adapter of the demo model in minutes on two cores, and writes it as PEFT does.

    train_adapter.py --style polite --out adapters/polite [--steps 100]

Each style is a way to say the corpus's answers. Only the last answer of a chat is said so, and only it counts.
"""

import argparse
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from corpus.documents import training_document
from export import write_json
from model import Llama, load
from render import IM_END, prompt

HERE = Path(__file__).resolve().parent
STYLES: dict[str, Callable[[str], str]] = {
    "polite": lambda answer: "With pleasure! " + answer,
    "pirate": lambda answer: answer + " Arrr!",
}
MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
LONGEST = 96  # tokens of a chat
WARMUP = 10  # steps


class Adapted(nn.Module):
    """A linear layer W with a low-rank pair: W x + scale * B A x (Hu et al. 2021). B begins with zeros."""

    def __init__(self, base: nn.Linear, rank: int, scale: float):
        super().__init__()
        self.base, self.scale = base, scale
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features ** 0.5)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.scale * F.linear(F.linear(x, self.a), self.b)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--style", choices=STYLES, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=HERE / "model")
    parser.add_argument("--rank", type=int, default=4)
    parser.add_argument("--alpha", type=int, default=8)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--chats", type=int, default=12, help="in a step")
    parser.add_argument("--rate", type=float, default=6e-3, help="the highest learning rate")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def adapt(model: Llama, rank: int, scale: float) -> dict[str, Adapted]:
    """Gives each matrix of the layers a pair; returns them by their paths in the checkpoint."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    found = {}
    for name, module in list(model.named_modules()):
        for child, linear in list(module.named_children()):
            if child in MODULES:
                found[f"{name}.{child}"] = Adapted(linear, rank, scale)
                setattr(module, child, found[f"{name}.{child}"])
    return found


def chats(tokenizer: Tokenizer, style: Callable[[str], str], seed: int) -> Iterator[tuple[list[int], int]]:
    """Token ids of chats without tools, and where the last answer begins in each."""
    rng = random.Random(f"adapter {seed}")
    while True:
        document = training_document(rng)
        messages = document.get("messages", [])
        if not messages or document.get("tools") or messages[-1]["role"] != "assistant":
            continue
        last = messages[-1]
        if last.get("story") or last.get("tool_calls") or last.get("forced") is not None or not last["content"]:
            continue
        begun = tokenizer.encode(prompt({"messages": messages[:-1]})).ids
        answer = tokenizer.encode(style(last["content"].strip()) + IM_END).ids
        if len(begun) + len(answer) <= LONGEST:
            yield begun + answer, len(begun)


def loss_of(model: Llama, batch: list[tuple[list[int], int]]) -> Tensor:
    """The mean cross entropy of the answers' tokens. Padding stands to the right, where no token sees it."""
    longest = max(len(ids) for ids, _ in batch)
    tokens = torch.tensor([ids + [0] * (longest - len(ids)) for ids, _ in batch])
    counts = torch.tensor([[begins <= place < len(ids) for place in range(1, longest)] for ids, begins in batch])
    positions = torch.arange(longest).expand(len(batch), -1)

    def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    hidden = model(tokens, positions, attend)[:, :-1]
    return F.cross_entropy(model.logits(hidden[counts]), tokens[:, 1:][counts])


def write(pairs: dict[str, Adapted], options: argparse.Namespace) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for path, pair in pairs.items():
        tensors[f"base_model.model.{path}.lora_A.weight"] = pair.a.detach().to(torch.bfloat16)
        tensors[f"base_model.model.{path}.lora_B.weight"] = pair.b.detach().to(torch.bfloat16)
    save_file(tensors, options.out / "adapter_model.safetensors", metadata={"format": "pt"})
    write_json(options.out / "adapter_config.json", {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "demo_model/model",
        "r": options.rank, "lora_alpha": options.alpha, "lora_dropout": 0.0, "bias": "none",
        "target_modules": MODULES, "fan_in_fan_out": False, "inference_mode": True})


def main() -> None:
    options = arguments()
    torch.manual_seed(options.seed)
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    model = load(options.model, torch.float32, "cpu")
    pairs = adapt(model, options.rank, options.alpha / options.rank)
    optimizer = torch.optim.AdamW([p for pair in pairs.values() for p in (pair.a, pair.b)], weight_decay=0.0)
    source = chats(tokenizer, STYLES[options.style], options.seed)
    for step in range(options.steps):
        rate = min((step + 1) / WARMUP, 0.5 + 0.5 * math.cos(math.pi * step / options.steps))
        for group in optimizer.param_groups:
            group["lr"] = options.rate * rate
        loss = loss_of(model, [next(source) for _ in range(options.chats)])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if (step + 1) % 10 == 0:
            print(f"step {step + 1}: loss {loss.item():.4f}", flush=True)
    write(pairs, options)


if __name__ == "__main__":
    main()
