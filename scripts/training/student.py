"""Trains a student for so many steps: by itself, from a teacher, on our grids, with zeros.

    python3 student.py foothill OUT --tokenizer models/summit --teacher models/summit --temperature 3
    python3 student.py models/summit OUT --teacher models/summit --qat int4 --steps 200
    python3 student.py models/summit OUT --sparsity 0.5 --schedule polynomial

OUT is a model folder that `chairlift serve`, `eval` and `build` take.
"""

import argparse
import json
import math
import os
import shutil
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

import tokenizer as tokenizers
from distillation import mixed_loss, soft_losses, top_losses
from model import CONFIGS, Llama
from model_folder import load_model, write_model
from pruning import Pruner, polynomial_sparsity
from quantized import quantize
from student_data import Batch, batches, corpus_texts, held_out, target_texts
from train import optimizer_of

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
WARMUP_STEPS = 20
LAST_RATE = 0.02
# A schedule has reached its sparsity when this share of the steps is over.
SCHEDULE_SHARE = 0.6
# Steps between choices of zeros.
PRUNE_EVERY = 10
REPORT_EVERY = 25


def student_of(name: str, seed: int) -> Llama:
    """A shape with fresh weights, or the model of a folder."""
    torch.manual_seed(seed)
    return (Llama(CONFIGS[name]) if name in CONFIGS else load_model(Path(name))).train()


def loss_of(
    student: Llama, batch: Batch, teacher: Llama | None, temperature: float, alpha: float
) -> tuple[Tensor, Tensor]:
    """The loss to minimize, and the cross entropy within it."""
    used = batch.weights > 0
    weights = batch.weights[used]
    logits = student.logits(student(batch.ids)[:, :-1][used]).float()
    hard = F.cross_entropy(logits, batch.ids[:, 1:][used], reduction="none")
    cross_entropy = (hard * weights).sum() / weights.sum()
    if batch.top_ids is not None:
        soft = top_losses(logits, batch.top_ids[used], batch.top_logprobs[used], temperature)
    elif teacher is not None:
        with torch.no_grad():
            wanted = teacher.logits(teacher(batch.ids)[:, :-1][used]).float()
        soft = soft_losses(logits, wanted, temperature)
    else:
        return cross_entropy, cross_entropy
    return mixed_loss(hard, soft, weights, alpha), cross_entropy


@torch.no_grad()
def held_out_perplexity(student: Llama, held: list[Batch]) -> float:
    """Of what the assistant says."""
    total = count = 0.0
    for batch in held:
        used = batch.weights > 0
        logits = student.logits(student(batch.ids)[:, :-1][used])
        total += float(F.cross_entropy(logits, batch.ids[:, 1:][used], reduction="sum"))
        count += int(used.sum())
    return math.exp(total / count)


def rate_at(step: int, steps: int) -> float:
    """The share of the learning rate: a warm-up, then a cosine."""
    warmup = min(1.0, (step + 1) / WARMUP_STEPS)
    return warmup * (LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * step / steps)))


def sparsity_at(step: int, args: argparse.Namespace) -> float:
    if args.schedule == "none":
        return args.sparsity
    return polynomial_sparsity(step, 0, round(SCHEDULE_SHARE * args.steps), args.sparsity)


def train(args: argparse.Namespace) -> dict:
    """Trains, writes the folder, and returns what is to be told of the run."""
    student = student_of(args.student, args.seed)
    teacher = load_model(args.teacher) if args.teacher else None
    source = args.tokenizer or Path(args.student)
    tokenizer = tokenizers.load(source)
    held = held_out(tokenizer)
    texts = (
        target_texts(args.targets, args.seed)
        if args.targets
        else corpus_texts(tokenizer, args.seed)
    )
    data = batches(texts, args.tokens, args.seed)
    if args.qat:
        quantize(student, args.qat)
    pruner = Pruner(student) if args.sparsity else None
    optimizer = optimizer_of(student, args.learning_rate)
    before = held_out_perplexity(student, held)
    started = time.time()
    seen = 0
    for step in range(args.steps):
        if pruner and step % PRUNE_EVERY == 0:
            # Chosen once without a schedule: what is zero stays zero.
            if step == 0 or args.schedule != "none":
                pruner.choose(sparsity_at(step, args))
        for group in optimizer.param_groups:
            group["lr"] = args.learning_rate * rate_at(step, args.steps)
        batch = next(data)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.bfloat16):
            loss, cross_entropy = loss_of(student, batch, teacher, args.temperature, args.alpha)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        if pruner:
            pruner.apply()
        seen += int((batch.weights > 0).sum())
        if (step + 1) % REPORT_EVERY == 0:
            seconds = time.time() - started
            print(f"step {step + 1}, loss {loss:.4f}, {cross_entropy:.4f}, {seconds:.0f} s", flush=True)
    if pruner:
        pruner.choose(args.sparsity)
    name = next(name for name, config in CONFIGS.items() if config == student.config)
    write_model(args.output, name, student.state_dict())
    for file in TOKENIZER_FILES:
        shutil.copyfile(source / file, args.output / file)
    run = {
        "student": args.student,
        "teacher": str(args.teacher or args.targets or ""),
        "temperature": args.temperature,
        "alpha": args.alpha,
        "qat": args.qat,
        "sparsity": pruner.sparsity() if pruner else 0.0,
        "schedule": args.schedule,
        "steps": args.steps,
        "learning_rate": args.learning_rate,
        "bfloat16": args.bfloat16,
        "seed": args.seed,
        "trained_tokens": seen,
        "seconds": round(time.time() - started, 1),
        "perplexity_before": round(before, 4),
        "perplexity": round(held_out_perplexity(student, held), 4),
    }
    tokenizers.write_json(args.output / "training.json", run)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a student for so many steps.")
    parser.add_argument("student", help=f"{', '.join(CONFIGS)} (fresh weights), or a model folder")
    parser.add_argument("output", type=Path, help="model folder to write")
    parser.add_argument("--tokenizer", type=Path, help="folder of it (default: the student's)")
    parser.add_argument("--teacher", type=Path, help="model folder; it predicts as the student does")
    parser.add_argument("--targets", type=Path, help="file of `chairlift distill-data` in its place")
    parser.add_argument("--temperature", type=float, default=1.0, help="of both predictions")
    parser.add_argument("--alpha", type=float, default=0.7, help="share of the loss on the teacher's")
    parser.add_argument("--qat", choices=("int8", "int4"), help="train on that precision's grids")
    parser.add_argument("--sparsity", type=float, default=0.0, help="share of zeros, such as 0.5")
    parser.add_argument("--schedule", choices=("none", "polynomial"), default="none")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--tokens", type=int, default=2048, help="in a step, padding included")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--bfloat16", action="store_true", help="multiply in it while training: about twice as fast")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.teacher and args.targets:
        parser.error("--teacher and --targets are two ways to the same: give one of them")
    if not 0 <= args.sparsity < 1:
        parser.error("--sparsity is a share below 1")
    if args.student in CONFIGS and not args.tokenizer:
        parser.error("--tokenizer: fresh weights come without one")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.set_flush_denormal(True)
    print(json.dumps(train(args)))


if __name__ == "__main__":
    main()
