"""Steps of an optimizer, with the rate of student.py."""

import time
from collections.abc import Callable

import torch
from torch import Tensor

from student import REPORT_EVERY, rate_at


def descend(
    optimizer: torch.optim.Optimizer,
    loss_of_batch: Callable[[], Tensor],
    *,
    steps: int,
    learning_rate: float,
    bfloat16: bool = False,
) -> float:
    """Takes that many steps, each down the loss of the next batch.

    With `bfloat16` losses are computed in it. Returns seconds.
    """
    trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    started = time.time()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * rate_at(step, steps)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            loss = loss_of_batch()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        if (step + 1) % REPORT_EVERY == 0:
            print(f"step {step + 1}, loss {loss:.4f}, {time.time() - started:.0f} s", flush=True)
    return time.time() - started
