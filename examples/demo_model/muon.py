"""Muon (Jordan et al., 2024): momentum whose singular values are all made one, for the matrices of the hidden layers."""

import torch
from torch import Tensor

MOMENTUM = 0.95
COEFFICIENTS = 3.4445, -4.7750, 2.0315  # of the polynomial that brings singular values near one
ITERATIONS = 5
SIZE = 0.2  # root mean square of an update before the learning rate, much as Adam's


def orthogonal(matrices: Tensor) -> Tensor:
    """The nearest matrices [N, R, C] with orthonormal rows or columns, nearly, by Newton and Schulz's iteration."""
    a, b, c = COEFFICIENTS
    is_tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.bfloat16().mT if is_tall else matrices.bfloat16()
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if is_tall else x


class Muon(torch.optim.Optimizer):
    def __init__(self, matrices: list[torch.nn.Parameter], weight_decay: float):
        shapes = sorted({tuple(matrix.shape) for matrix in matrices})
        groups = [{"params": [matrix for matrix in matrices if matrix.shape == shape]} for shape in shapes]
        super().__init__(groups, {"lr": 0.0, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        """One step; matrices of one shape go together."""
        for group in self.param_groups:
            matrices = group["params"]
            gradients = torch.stack([matrix.grad for matrix in matrices])
            momentum = self.state[matrices[0]].setdefault("momentum", torch.zeros_like(gradients))
            momentum.lerp_(gradients, 1 - MOMENTUM)
            updates = orthogonal(gradients.lerp(momentum, MOMENTUM)).float()
            scale = SIZE * max(updates.shape[1:]) ** 0.5
            torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
            torch._foreach_add_(matrices, list(updates.unbind()), alpha=-group["lr"] * scale)
