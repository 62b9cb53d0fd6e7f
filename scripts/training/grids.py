"""The grids that Chairlift rounds to, and rounding that gradients pass straight through.

The same numbers as src/model/quantize/quantize-blocks.ts, src/model/quantize/make-rows.ts and
native/quantize.cpp: what is trained on these grids is stored on them without further loss.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

# Values of a row that share a scale.
BLOCK_SIZE = 64
LARGEST_INT8 = 127
# Scales that are tried around the one that just reaches the furthest value of a 4-bit block.
SCALE_STEPS = (-0.12, -0.09, -0.06, -0.03, 0, 0.03, 0.06, 0.09, 0.12)
REACH_INT4 = 8

Grid = Callable[[Tensor], Tensor]


def int8_rows(values: Tensor) -> Tensor:
    """Each row by a scale of its own: weights of --precision int8, and the LM head of int4."""
    return _by_largest(values)


def int8_blocks(values: Tensor) -> Tensor:
    """Each block of 64 by a scale of its own: activations, and the embedding."""
    return _in_blocks(values, _by_largest)


def int4_blocks(values: Tensor) -> Tensor:
    """Each block of 64 by the scale of least error: weights of --precision int4."""
    return _in_blocks(values, _by_least_error)


def straight_through(values: Tensor, grid: Grid) -> Tensor:
    """The values on a grid; to gradients they are what they were."""
    return values + (grid(values.detach()) - values.detach())


def _in_blocks(values: Tensor, grid: Grid) -> Tensor:
    columns = values.shape[-1]
    padded = F.pad(values, (0, -columns % BLOCK_SIZE))
    blocks = padded.unflatten(-1, (-1, BLOCK_SIZE))
    return grid(blocks).flatten(-2)[..., :columns]


def _round(values: Tensor) -> Tensor:
    """To the nearest integer, halves up as JavaScript does."""
    return torch.floor(values + 0.5)


def _inverse(scale: Tensor) -> Tensor:
    return torch.where(scale == 0, 0.0, 1 / scale)


def _by_largest(groups: Tensor) -> Tensor:
    scale = groups.abs().amax(-1, keepdim=True) / LARGEST_INT8
    return _round(groups * _inverse(scale)) * scale


def _by_least_error(groups: Tensor) -> Tensor:
    furthest = groups.gather(-1, groups.abs().argmax(-1, keepdim=True))
    first = furthest / -REACH_INT4
    best = first
    best_gain = torch.full_like(first, -torch.inf)
    for step in SCALE_STEPS:
        shifted = torch.trunc(groups * (_inverse(first) * (1 + step)) + REACH_INT4 + 0.5)
        integers = shifted.clamp(0, 2 * REACH_INT4 - 1) - REACH_INT4
        products = (groups * integers).sum(-1, keepdim=True)
        squares = integers.square().sum(-1, keepdim=True)
        gain = products.square() / squares
        is_better = gain > best_gain
        best = torch.where(is_better, products / squares, best)
        best_gain = torch.where(is_better, gain, best_gain)
    best = torch.where(first == 0, 0.0, best)
    integers = _round(groups * _inverse(best)).clamp(-REACH_INT4, REACH_INT4 - 1)
    # Our own kernels keep scales as float16.
    return integers * best.half().float()
