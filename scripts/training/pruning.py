"""Magnitude pruning: the smallest weights become zeros, all at once or along a schedule."""

import torch
from torch import Tensor, nn


def polynomial_sparsity(step: int, begin: int, end: int, final: float) -> float:
    """The share of zeros at a step: from 0 at `begin` along a cubic to `final` at `end`."""
    if step < begin:
        return 0.0
    left = 1 - min(1, (step - begin) / max(1, end - begin))
    return final * (1 - left**3)


def magnitude_mask(weight: Tensor, sparsity: float) -> Tensor:
    """1 for the weights that stay, 0 for that share of them with the smallest magnitudes."""
    pruned = round(sparsity * weight.numel())
    mask = torch.ones_like(weight)
    if pruned > 0:
        order = weight.abs().flatten().argsort(stable=True)
        mask.view(-1)[order[:pruned]] = 0
    return mask


class Pruner:
    """Keeps the linear layers of a model at a sparsity; embedding and norms stay whole."""

    def __init__(self, model: nn.Module) -> None:
        self.weights = [each.weight for each in model.modules() if isinstance(each, nn.Linear)]
        self.masks = [torch.ones_like(weight) for weight in self.weights]

    @torch.no_grad()
    def choose(self, sparsity: float) -> None:
        """Picks the zeros anew, matrix by matrix."""
        self.masks = [magnitude_mask(weight, sparsity) for weight in self.weights]
        self.apply()

    @torch.no_grad()
    def apply(self) -> None:
        """After a step of the optimizer, which moves zeros too."""
        for weight, mask in zip(self.weights, self.masks):
            weight.mul_(mask)

    @torch.no_grad()
    def sparsity(self) -> float:
        """The share of zeros there is."""
        zeros = sum(int((weight == 0).sum()) for weight in self.weights)
        return zeros / sum(weight.numel() for weight in self.weights)
