"""Quantization-aware training: a model that computes with the numbers it will be served with."""

import torch.nn.functional as F
from torch import Tensor, nn

from grids import Grid, int4_blocks, int8_blocks, int8_rows, straight_through
from model import Llama

WEIGHT_GRIDS: dict[str, Grid] = {"int8": int8_rows, "int4": int4_blocks}


class QuantizedLinear(nn.Linear):
    """A linear layer on grids, over the weights of another one."""

    def __init__(self, linear: nn.Linear, grid: Grid) -> None:
        # Without weights of its own.
        super().__init__(linear.in_features, linear.out_features, bias=False, device="meta")
        self.weight = linear.weight
        self.grid = grid

    def forward(self, x: Tensor) -> Tensor:
        return quantized_product(x, self.weight, self.grid)


def quantized_product(x: Tensor, weight: Tensor, grid: Grid) -> Tensor:
    """x W^T with the weights on a grid and the activations in 8 bits."""
    return F.linear(straight_through(x, int8_blocks), straight_through(weight, grid))


def quantize(model: Llama, precision: str) -> None:
    """Has a model compute as in that precision; its parameters stay floats, under their names."""
    grid = WEIGHT_GRIDS[precision]
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Linear:
                setattr(parent, name, QuantizedLinear(child, grid))
    embedding = model.embed_tokens
    embedding.register_forward_hook(lambda _module, _ids, x: straight_through(x, int8_blocks))
    # The tied matrix has another grid as LM head; it stays in 8 bits.
    model.logits = lambda hidden: quantized_product(hidden, embedding.weight, int8_rows)
