"""The model: Llama's architecture in plain PyTorch, with the parameter names of the Hugging Face checkpoint.

Shapes: B rows, T tokens, H hidden, A heads, K KV heads, D head size, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# attend(layer, q [B, A, T, D], k [B, K, T, D], v [B, K, T, D]) -> [B, A, T, D]
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Shape:
    """The sizes that determine the weights' shapes: 4.99 million parameters, 9.98 MB in bfloat16."""

    vocab_size: int = 2048
    hidden_size: int = 256
    intermediate_size: int = 512
    num_hidden_layers: int = 8
    num_attention_heads: int = 8
    num_key_value_heads: int = 2
    head_dim: int = 32
    max_position_embeddings: int = 8192
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0


def linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding (RoFormer, section 3.2.2) of x [B, *, T, D], dimension i paired with i + D/2; cos and sin are
    [B, 1, T, D/2]."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, shape: Shape, layer: int):
        super().__init__()
        self.layer, self.head_dim = layer, shape.head_dim
        queries, keys = shape.num_attention_heads * shape.head_dim, shape.num_key_value_heads * shape.head_dim
        self.q_proj, self.o_proj = linear(shape.hidden_size, queries), linear(queries, shape.hidden_size)
        self.k_proj, self.v_proj = linear(shape.hidden_size, keys), linear(shape.hidden_size, keys)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        q, k, v = (project(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
                   for project in (self.q_proj, self.k_proj, self.v_proj))
        y = attend(self.layer, rotated(q, *rope), rotated(k, *rope), v)
        return self.o_proj(y.transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.gate_proj = linear(shape.hidden_size, shape.intermediate_size)
        self.up_proj = linear(shape.hidden_size, shape.intermediate_size)
        self.down_proj = linear(shape.intermediate_size, shape.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape, layer: int):
        super().__init__()
        self.self_attn, self.mlp = Attention(shape, layer), FeedForward(shape)
        self.input_layernorm = nn.RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(shape.hidden_size, shape.rms_norm_eps)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), rope, attend)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.model = nn.ModuleDict({
            "embed_tokens": nn.Embedding(shape.vocab_size, shape.hidden_size),
            "layers": nn.ModuleList(Layer(shape, i) for i in range(shape.num_hidden_layers)),
            "norm": nn.RMSNorm(shape.hidden_size, shape.rms_norm_eps)})
        powers = torch.arange(0, shape.head_dim, 2) / shape.head_dim
        self.register_buffer("frequencies", shape.rope_theta ** -powers, persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:  # what adds to the residual stream starts smaller: 2 additions a layer
                adds = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=0.02 / (2 * shape.num_hidden_layers) ** 0.5 if adds else 0.02)

    def forward(self, tokens: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """The last hidden state, [B, T, H], of tokens [B, T] that stand at positions [B, T] of their documents."""
        angles = positions[:, None, :, None] * self.frequencies
        rope = angles.cos(), angles.sin()
        x = self.model.embed_tokens(tokens)
        for layer in self.model.layers:
            x = layer(x, rope, attend)
        return self.model.norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., V] of hidden [..., H]; the output shares the embedding's weights."""
        return F.linear(hidden, self.model.embed_tokens.weight)


class Cache:
    """The keys and values of rows whose lengths differ, for decoding. Padding stands to the right of a row; what it left
    here lies behind the row's last position and is overwritten before anything attends to it."""

    def __init__(self, model: Llama, rows: int, length: int):
        shape, weight = model.shape, model.model.embed_tokens.weight
        size = shape.num_hidden_layers, rows, shape.num_key_value_heads, length, shape.head_dim
        self.keys, self.values = weight.new_zeros(size), weight.new_zeros(size)
        self.rows = torch.arange(rows, device=weight.device)[:, None]
        self.places = torch.arange(length, device=weight.device)

    def step(self, model: Llama, tokens: Tensor, positions: Tensor) -> Tensor:
        """Hidden states of new tokens [B, T], which attend to all up to their positions."""
        mask = (self.places <= positions[..., None])[:, None]

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            self.keys[layer][self.rows, :, positions] = k.transpose(1, 2)
            self.values[layer][self.rows, :, positions] = v.transpose(1, 2)
            return F.scaled_dot_product_attention(q, self.keys[layer], self.values[layer], mask, enable_gqa=True)

        return model(tokens, positions, attend)


def load(folder: Path, dtype: torch.dtype, device: str) -> Llama:
    """The model of a checkpoint folder, computing in `dtype`."""
    import json

    from safetensors.torch import load_file

    config = json.loads((folder / "config.json").read_text())
    model = Llama(Shape(**{name: config[name] for name in Shape.__dataclass_fields__}))
    model.load_state_dict(load_file(folder / "model.safetensors"))
    frequencies = model.frequencies
    model.to(device, dtype)
    model.frequencies = frequencies.to(device)  # angles stay in float32
    return model.eval()
