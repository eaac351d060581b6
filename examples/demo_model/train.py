#!/usr/bin/env python3
"""Trains the demo model on one GPU in minutes and writes it in Hugging Face layout.

    train.py --model model [--steps 10000] [--minutes 7] [--documents 900000]

The folder holds the tokenizer already (make_tokenizer.py). The corpus is made here, and all of it lies on the GPU as one
tensor. Documents are packed into rows of 8192 tokens; attention does not leave its document. The loss is on what the
assistant says: answers in full, stories less. Training ends after so many steps or minutes, whichever comes first, and the
learning rate reaches zero there.
"""

import argparse
import math
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from dataset import rows_of_corpus
from export import export
from model import Llama, Shape
from muon import Muon
from render import ANSWER

DEVICE = "cuda"
BLOCK = 128  # positions that attention takes together
WARMUP = 200  # steps
BETAS = (0.9, 0.98)
DECAY = 0.1
CLIP = 1.0
MUON_RATE = 3  # times AdamW's


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--minutes", type=float, default=7, help="of training at most, without the corpus")
    parser.add_argument("--rows", type=int, default=16, help="of 8192 tokens, in a step")
    parser.add_argument("--documents", type=int, default=900000)
    parser.add_argument("--rate", type=float, default=3e-3, help="the highest learning rate")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def weighted_loss(model: Llama, tokens: Tensor, weights: Tensor, positions: Tensor, mask: BlockMask) -> Tensor:
    """The mean cross entropy of the next tokens, by their weights; the token after a document's last is none of its."""
    def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)

    hidden = model(tokens, positions, attend)
    losses = F.cross_entropy(model.logits(hidden)[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten(), reduction="none")
    weight = (weights[:, 1:] * (positions[:, 1:] != 0)).flatten() / ANSWER
    return (losses * weight).sum() / weight.sum()


def rate(step: int, done: float, options: argparse.Namespace) -> float:
    """Linear warm-up, then a cosine to zero, where `done` is 1."""
    return options.rate * min((step + 1) / WARMUP, 0.5 + 0.5 * math.cos(math.pi * done))


def optimizers_of(model: Llama) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for the embedding and the gains."""
    embedding = [model.model.embed_tokens.weight]
    matrices = [p for p in model.model.layers.parameters() if p.dim() == 2]
    gains = [p for p in model.parameters() if p.dim() != 2]
    groups = [{"params": embedding, "weight_decay": DECAY}, {"params": gains, "weight_decay": 0.0}]
    return [torch.optim.AdamW(groups, betas=BETAS, fused=True), Muon(matrices, DECAY)]


def indices(is_in: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of keys are in, for each row and query, and which: these first."""
    counts = is_in.sum(-1, dtype=torch.int32)
    return counts[:, None], is_in.int().argsort(dim=-1, descending=True, stable=True).int()[:, None]


class Batches:
    """Rows of the corpus in an order of chance, each once before any comes again."""

    def __init__(self, rows: Tensor, count: int, seed: int):
        self.rows, self.count = rows, count
        self.generator = torch.Generator().manual_seed(seed)
        self.order: Tensor = torch.empty(0, dtype=torch.long)
        document = torch.zeros(count, rows.shape[-1], dtype=torch.int32, device=DEVICE)

        def sees(batch: Tensor, _: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return (query >= key) & (document[batch, query] == document[batch, key])

        self.document, self.sees = document, sees  # one tensor and one function, so that nothing is compiled again

    def next(self) -> tuple[Tensor, Tensor, Tensor, BlockMask]:
        if len(self.order) < self.count:
            self.order = torch.randperm(len(self.rows), generator=self.generator)
        chosen, self.order = self.order[:self.count], self.order[self.count:]
        tokens, weights, positions = self.rows[chosen.to(DEVICE)].unbind(1)
        self.document.copy_((positions == 0).cumsum(1))
        return tokens.long(), weights, positions.long(), self.mask()

    def mask(self) -> BlockMask:
        """Which blocks of keys those of queries see, in part or as a whole. Documents stand in their order in a row."""
        blocks = self.document.unflatten(1, (-1, BLOCK))
        first, last = blocks[..., 0], blocks[..., -1]
        order = torch.arange(first.shape[1], device=DEVICE)
        is_seen = (order[:, None] >= order) & (last[:, None, :] >= first[:, :, None])  # [row, query, key]
        is_whole = (order[:, None] > order) & (first[:, None, :] == last[:, :, None])
        return BlockMask.from_kv_blocks(*indices(is_seen & ~is_whole), *indices(is_whole), BLOCK_SIZE=BLOCK, mask_mod=self.sees)


def train(model: Llama, batches: Batches, options: argparse.Namespace) -> None:
    optimizers = optimizers_of(model)
    loss_of = torch.compile(weighted_loss, dynamic=False)
    started = time.monotonic()
    step, done = 0, 0.0
    while done < 1:
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate(step, done, options) * (MUON_RATE if isinstance(optimizer, Muon) else 1)
        batch = batches.next()
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = loss_of(model, *batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        step += 1
        done = max(step / options.steps, (time.monotonic() - started) / (60 * options.minutes))
        if step % 100 == 0 or done >= 1:
            print(f"step {step}: loss {loss.item():.4f}, {time.monotonic() - started:.0f} s", flush=True)


def main() -> None:
    options = arguments()
    torch.manual_seed(options.seed)
    started = time.monotonic()
    path = options.model / "tokenizer.json"
    rows = torch.from_numpy(rows_of_corpus(path, options.seed, options.documents)).to(DEVICE)
    print(f"{len(rows)} rows, {(rows[:, 2] > 0).sum() / 1e6:.1f} M tokens, {(rows[:, 1] > 0).sum() / 1e6:.1f} M of them "
          f"with a weight, made in {time.monotonic() - started:.0f} s", flush=True)
    model = Llama(Shape()).to(DEVICE)
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    train(model, Batches(rows, options.rows, options.seed), options)
    export(model, Tokenizer.from_file(str(path)), options.model)


if __name__ == "__main__":
    main()
