"""Muon: momentum whose matrices are made orthogonal, which trains a small model in fewer steps than AdamW."""

import torch
from torch import Tensor

MOMENTUM = 0.95
# Coefficients of the iteration of Newton and Schulz of fifth order.
COEFFICIENTS = (3.4445, -4.775, 2.0315)
STEPS = 5


def orthogonal(matrices: Tensor) -> Tensor:
    """Nearly, of matrices of one shape, with no more rows than columns."""
    a, b, c = COEFFICIENTS
    x = matrices / (matrices.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(STEPS):
        product = x @ x.mT
        x = a * x + (b * product + c * product @ product) @ x
    return x


class Muon(torch.optim.Optimizer):
    """For matrices of layers; embeddings, norms and biases are another optimizer's."""

    def __init__(self, parameters: list[torch.nn.Parameter], lr: float, weight_decay: float = 0.01) -> None:
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            by_shape: dict[tuple[int, int], list[torch.nn.Parameter]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape.setdefault(tuple(parameter.shape), []).append(parameter)
            for (rows, columns), parameters in by_shape.items():
                updates = torch.stack([self._update(parameter) for parameter in parameters])
                made = orthogonal(updates.mT if rows > columns else updates)
                made = made.mT if rows > columns else made
                scale = group["lr"] * max(1.0, rows / columns) ** 0.5
                for parameter, update in zip(parameters, made):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-scale)

    def _update(self, parameter: torch.nn.Parameter) -> Tensor:
        """Nesterov's momentum."""
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        momentum = state["momentum"]
        momentum.lerp_(parameter.grad, 1 - MOMENTUM)
        return parameter.grad.lerp(momentum, MOMENTUM)
