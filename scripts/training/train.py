"""Trains the models on documents from the generator.

    python3 train.py data DIR                  writes the data files
    python3 train.py summit DIR                trains Summit in six phases
    python3 train.py foothill DIR              distils Foothill from Summit

DIR holds the tokenizer (DIR/tokenizer, see tokenizer.py), the data files and the checkpoints.
"""

import argparse
import math
import os
import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dataset import SOURCES, STORED_WEIGHT_ONE, build
from distillation import soft_losses
from model import CONFIGS, Llama

# The share of the user's tokens that enters the loss at a step, with their weight raised to match.
KEPT_USER_TOKENS = 0.15
# Steps' worth of rows of each length that are held out for the loss at the end of a phase.
HELD_OUT_STEPS = 6
# The share of the loss on the teacher's predictions when distilling.
DISTILLATION_SHARE = 0.7
NOT_ATTENDED = -1e9

SAVE_EVERY_SECONDS = 60
REPORT_EVERY_STEPS = 25

Data = dict[str, np.ndarray]


@dataclass(frozen=True)
class Phase:
    """A part of a training run.

    The learning rate warms up over `warmup` steps and falls along a cosine to its share `floor`;
    `rows` gives the rows of each length in a step; `skip` the steps of the seeded order that an
    earlier phase on the same data has taken.
    """

    name: str
    data: str
    minutes: float
    learning_rate: float
    floor: float
    warmup: int
    rows: dict[int, int]
    skip: int = 0


# A start on everything, a phase on copying (attention learns to look back there), then a mix of
# both in two parts, the mix with more sums, and what was still weak.
SUMMIT_PHASES = [
    Phase("start", "data", 10.1, 2.5e-3, 0.74, 120, {256: 16, 768: 5}),
    Phase("copy", "copy", 4.0, 2.0e-3, 0.70, 60, {256: 8}),
    Phase("mixed-1", "mixed", 6.0, 2.0e-3, 0.70, 60, {256: 10, 768: 3}),
    Phase("mixed-2", "mixed", 7.0, 1.45e-3, 0.48, 30, {256: 10, 768: 3}, skip=1252),
    Phase("final", "final", 8.3, 1.0e-3, 0.02, 25, {256: 10, 768: 3}),
    Phase("polish", "polish", 3.6, 1.0e-3, 0.02, 25, {256: 10, 768: 3}),
]
FOOTHILL_PHASE = Phase("distil", "mixed", 4.3, 4e-3, 0.02, 120, {256: 10, 768: 3})


def batch(data: Data, length: int, rows: slice) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids [B, T], the additive mask [B, 1, 1, T, T] and the loss weights [B, T - 1].

    A weight belongs to the token that follows, and is 0 where that begins another document.
    """
    ids = torch.from_numpy(data[f"X{length}"][rows].astype(np.int64))
    stored_weights = torch.from_numpy(data[f"W{length}"][rows].astype(np.float32))
    documents = torch.from_numpy(data[f"D{length}"][rows].astype(np.float32))
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    attended = (documents[:, :, None] == documents[:, None, :]) & causal
    mask = torch.zeros(attended.shape).masked_fill_(~attended, NOT_ATTENDED)[:, None, None]
    weights = stored_weights[:, 1:] / STORED_WEIGHT_ONE * (documents[:, 1:] == documents[:, :-1])
    kept = torch.rand(weights.shape) < KEPT_USER_TOKENS
    weights = torch.where(weights < 1, weights * kept / KEPT_USER_TOKENS, weights)
    return ids, mask, weights


def loss_of(
    model: Llama, ids: Tensor, mask: Tensor, weights: Tensor, teacher: Llama | None = None
) -> tuple[Tensor, float]:
    """The loss to minimize, and the cross entropy within it."""
    used = weights > 0
    used_weights = weights[used]
    logits = model.logits(model(ids, mask)[:, :-1][used]).float()
    entropies = F.cross_entropy(logits, ids[:, 1:][used], reduction="none")
    cross_entropy = (entropies * used_weights).sum() / used_weights.sum()
    if teacher is None:
        return cross_entropy, cross_entropy.item()
    with torch.no_grad():
        wanted = teacher.logits(teacher(ids, mask)[:, :-1][used]).float()
    distances = soft_losses(logits, wanted, 1.0)
    distance = (distances * used_weights).sum() / used_weights.sum()
    loss = (1 - DISTILLATION_SHARE) * cross_entropy + DISTILLATION_SHARE * distance
    return loss, cross_entropy.item()


def seeded_order(data: Data, rows: dict[int, int]) -> Iterator[tuple[int, slice]]:
    """An endless, seeded order of (row length, rows of a step)."""
    rng = random.Random(3)
    while True:
        steps = [
            (length, slice(start, start + count))
            for length, count in rows.items()
            for start in range(HELD_OUT_STEPS * count, len(data[f"X{length}"]) - count + 1, count)
        ]
        rng.shuffle(steps)
        yield from steps


def optimizer_of(model: Llama, learning_rate: float) -> torch.optim.Optimizer:
    """AdamW; matrices decay, the weights of the norms do not."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": 0.05},
        {"params": vectors, "weight_decay": 0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.97), foreach=True)


def load_checkpoint(path: Path, name: str) -> Llama:
    """The model of a checkpoint, for predictions only."""
    model = Llama(CONFIGS[name])
    model.load_state_dict(torch.load(path)["model"])
    return model.eval()


@torch.no_grad()
def held_out_loss(model: Llama, data: Data, rows: dict[int, int]) -> float:
    """The mean loss on what the assistant says in the held-out rows."""
    losses = []
    for length, count in rows.items():
        for step in range(HELD_OUT_STEPS):
            ids, mask, weights = batch(data, length, slice(step * count, (step + 1) * count))
            losses.append(loss_of(model, ids, mask, (weights >= 1).float())[1])
    return sum(losses) / len(losses)


def train(
    folder: Path,
    name: str,
    phase: Phase,
    minutes: float,
    resume: bool = False,
    teacher: Llama | None = None,
    bfloat16: bool = True,
) -> Path:
    """Trains one phase and returns the checkpoint `<name>.pt`, which `resume` starts from.

    The schedule follows the clock: the phase ends when the minutes are over.
    """
    checkpoint = folder / f"{name}.pt"
    data = dict(np.load(folder / f"{phase.data}.npz"))
    order = seeded_order(data, phase.rows)
    for _ in range(phase.skip):
        next(order)

    torch.manual_seed(1)
    model = Llama(CONFIGS[name])
    step_before, seen_before = 0, 0
    if resume:
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        step_before, seen_before = saved["step"], saved["seen"]
    optimizer = optimizer_of(model, phase.learning_rate)
    print(f"{name}: phase {phase.name}, {model.parameter_count()} parameters", flush=True)

    started = last_save = time.time()
    step = seen = 0
    average = None

    def save(**more: float) -> None:
        unfinished = checkpoint.with_suffix(".tmp")
        state = {
            "model": model.state_dict(),
            "step": step_before + step,
            "seen": seen_before + seen,
            "loss": average,
        }
        torch.save({**state, **more}, unfinished)
        unfinished.replace(checkpoint)

    while (elapsed := time.time() - started) < 60 * minutes:
        progress = elapsed / (60 * minutes)
        warmup = min(1, (step + 1) / phase.warmup)
        cosine = phase.floor + (1 - phase.floor) * 0.5 * (1 + math.cos(math.pi * progress))
        for group in optimizer.param_groups:
            group["lr"] = phase.learning_rate * warmup * cosine
        length, rows = next(order)
        ids, mask, weights = batch(data, length, rows)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            loss, cross_entropy = loss_of(model, ids, mask, weights, teacher)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

        step += 1
        seen += int((data[f"D{length}"][rows] > 0).sum())
        average = cross_entropy if average is None else 0.95 * average + 0.05 * cross_entropy
        if step % REPORT_EVERY_STEPS == 0:
            seconds = time.time() - started
            print(
                f"step {step}, loss {average:.4f}, {seen} tokens, {seen / seconds:.0f} tokens/s,"
                f" {seconds / 60:.1f} min",
                flush=True,
            )
        if time.time() - last_save > SAVE_EVERY_SECONDS:
            save()
            last_save = time.time()

    model.eval()
    held_out = held_out_loss(model, data, phase.rows)
    print(f"held-out loss {held_out:.4f} after {step} steps and {seen} tokens", flush=True)
    save(held=held_out)
    return checkpoint


def train_summit(folder: Path, scale: float, bfloat16: bool) -> None:
    """All phases of Summit; the checkpoint of each is kept as `summit-<phase>.pt`."""
    for index, phase in enumerate(SUMMIT_PHASES):
        minutes = phase.minutes * scale
        checkpoint = train(folder, "summit", phase, minutes, resume=index > 0, bfloat16=bfloat16)
        shutil.copyfile(checkpoint, folder / f"summit-{phase.name}.pt")


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains Summit and Foothill.")
    commands = parser.add_subparsers(dest="command", required=True)
    data = commands.add_parser("data", help="write the data files")
    summit = commands.add_parser("summit", help="train Summit in six phases")
    foothill = commands.add_parser("foothill", help="distil Foothill from Summit")
    for command in (data, summit, foothill):
        command.add_argument("folder", type=Path, help="folder of tokenizer, data and checkpoints")
    for command in (summit, foothill):
        command.add_argument(
            "--no-bfloat16",
            dest="bfloat16",
            action="store_false",
            help="multiply in float32 (the weights always are)",
        )
    data.add_argument("--only", choices=SOURCES, help="write only this data file")
    summit.add_argument(
        "--scale", type=float, default=1.0, help="stretches the phases (default: 1, 39 minutes)"
    )
    foothill.add_argument("--minutes", type=float, default=FOOTHILL_PHASE.minutes)
    foothill.add_argument(
        "--teacher",
        type=Path,
        help="checkpoint of Summit (default: summit-final.pt in the folder)",
    )
    args = parser.parse_args()

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.set_flush_denormal(True)
    if args.command == "data":
        for name in [args.only] if args.only else SOURCES:
            build(args.folder, name)
    elif args.command == "summit":
        train_summit(args.folder, args.scale, args.bfloat16)
    else:
        teacher = load_checkpoint(args.teacher or args.folder / "summit-final.pt", "summit")
        train(
            args.folder,
            "foothill",
            FOOTHILL_PHASE,
            args.minutes,
            teacher=teacher,
            bfloat16=args.bfloat16,
        )


if __name__ == "__main__":
    main()
