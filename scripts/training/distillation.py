"""Losses of a student that learns from what a teacher holds likely."""

import torch.nn.functional as F
from torch import Tensor

# Of what the likeliest tokens have together: the rest must not come to nothing.
MOST_KNOWN = 1 - 1e-4


def soft_losses(logits: Tensor, wanted: Tensor, temperature: float) -> Tensor:
    """T^2 KL(teacher || student), both at temperature T, of logits [..., vocabulary].

    T^2 makes up for the gradients of softened predictions, which are smaller by that.
    """
    student = F.log_softmax(logits / temperature, -1)
    teacher = F.log_softmax(wanted / temperature, -1)
    distances = F.kl_div(student, teacher, log_target=True, reduction="none").sum(-1)
    return temperature**2 * distances


def top_losses(logits: Tensor, ids: Tensor, logprobs: Tensor, temperature: float) -> Tensor:
    """The same, where of the teacher only the likeliest tokens are known: ids, logprobs [..., k].

    Two distances: of which of these tokens it is, at temperature T; and of whether it is one of them, at
    temperature 1, since nobody knows how much a higher one would give to all others. At T = 1 that is
    the distance of both predictions with all other tokens taken for one.
    """
    top = logits.gather(-1, ids)
    student = F.log_softmax(top / temperature, -1)
    teacher = F.log_softmax(logprobs / temperature, -1)
    which = temperature**2 * (teacher.exp() * (teacher - student)).sum(-1)
    known = logprobs.logsumexp(-1).exp().clamp(max=MOST_KNOWN)
    held = (top.logsumexp(-1) - logits.logsumexp(-1)).exp().clamp(max=MOST_KNOWN)
    whether = known * (known / held).log() + (1 - known) * ((1 - known) / (1 - held)).log()
    return known * which + whether


def mixed_loss(hard: Tensor, soft: Tensor, weights: Tensor, alpha: float) -> Tensor:
    """The weighted mean over tokens of (1 - alpha) hard + alpha soft."""
    losses = (1 - alpha) * hard + alpha * soft
    return (losses * weights).sum() / weights.sum()
