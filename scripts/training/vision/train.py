"""Trains the vision model on drawings and writes it as a model folder.

    pip install pillow==12.3.0 numpy torch torchvision num2words transformers==5.24.0
    python3 scripts/training/vision/train.py --out models/lookout

Drawings are made while it trains. On one core that does nothing else a step takes half a second.
The tower learns what is in each patch, by a layer that is thrown away: first alone, on pages that are full of
letters, then beside the answers, which alone would teach it to read far more slowly.
"""

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn

from muon import Muon
from drawings import CLASSES, MAX_PLACES, SIDE, Drawing, draw_page, patch_classes
from checkpoint import IMAGE, PATCH, WIDTH, load_model, make_model, make_tokenizer, prompt_of, write_folder
from questions import QUESTIONS, draw_for, exchanges

# The share of the steps in which the tower learns alone, and shapes among its drawings.
ALONE = 0.3
ALONE_SHAPES = 0.2
# How often a page is used, and how often its colors are inverted.
VIEWS = 4
INVERTED = 0.25
KINDS = ("shapes", "number", "word")
SHARES = (0.28, 0.27, 0.45)
# Batches whose chats have a second question.
SECOND = 0.1
PATCH_WEIGHT = 0.5
# Weight of patches with nothing in them, which most are.
EMPTY_WEIGHT = 0.2
WARMUP = 0.02
# The share of the steps at the highest rate.
PLATEAU = 0.4
REPORT_EVERY = 50
# Seconds.
SAVE_EVERY = 300


@dataclass(frozen=True)
class Batch:
    pixels: Tensor
    # Class and place.
    patches: Tensor


@dataclass(frozen=True)
class Chats:
    ids: Tensor
    # Whether a token is to be predicted.
    wanted: Tensor


class Teacher:
    """Makes batches of drawings."""

    def __init__(self, seed: int, size: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.size = size
        self.tokenizer = make_tokenizer()
        self._encoded: dict[str, list[int]] = {}

    def pages(self) -> Batch:
        """For the tower alone."""
        shapes = round(ALONE_SHAPES * self.size)
        drawn = _batch([draw_for(self.rng, "shapes") for _ in range(shapes)])
        pages = _batch([draw_page(self.rng) for _ in range((self.size - shapes) // VIEWS)])
        views = [drawn, *(self._view(pages) for _ in range(VIEWS))]
        return Batch(torch.cat([each.pixels for each in views]), torch.cat([each.patches for each in views]))

    def _view(self, pages: Batch) -> Batch:
        """The same pages in other colors, whose rows and columns of patches begin elsewhere."""
        order = self.rng.permutation(3).tolist()
        down, across = self.rng.integers(SIDE // PATCH, size=2).tolist()
        pixels = torch.roll(pages.pixels[:, order], (PATCH * down, PATCH * across), (2, 3))
        grid = pages.patches.unflatten(1, (SIDE // PATCH, SIDE // PATCH))
        patches = torch.roll(grid, (down, across), (1, 2)).flatten(1, 2)
        return Batch(-pixels if self.rng.random() < INVERTED else pixels, patches)

    def chats(self) -> tuple[Batch, Chats]:
        turns = 2 if self.rng.random() < SECOND else 1
        kinds = self.rng.choice(KINDS, size=self.size, p=SHARES)
        drawings = [draw_for(self.rng, str(kind)) for kind in kinds]
        chats = [self._chat(exchanges(drawing), turns) for drawing in drawings]
        longest = max(len(ids) for ids, _ in chats)
        ids = torch.full((self.size, longest), self.tokenizer.pad_token_id)
        wanted = torch.zeros((self.size, longest), dtype=torch.bool)
        for row, (chat, answers) in enumerate(chats):
            ids[row, : len(chat)] = torch.tensor(chat)
            wanted[row, : len(chat)] = torch.tensor(answers)
        return _batch(drawings), Chats(ids, wanted)

    def _chat(self, answers: dict[str, str], turns: int) -> tuple[list[int], list[bool]]:
        """Tokens of a chat of so many questions, and which of them are answers."""
        asked = self.rng.permutation(list(answers))[:turns]
        ids: list[int] = []
        wanted: list[bool] = []
        for turn, what in enumerate(asked):
            question = str(self.rng.choice(QUESTIONS[str(what)]))
            text = prompt_of(question) if turn == 0 else f"\nUser:{question}<end_of_utterance>\nAssistant:"
            answer = f"{answers[str(what)]}<end_of_utterance>"
            for part, is_answer in ((text, False), (answer, True)):
                encoded = self._encode(part)
                ids += encoded
                wanted += [is_answer] * len(encoded)
        return ids, wanted

    def _encode(self, text: str) -> list[int]:
        if text not in self._encoded:
            self._encoded[text] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return self._encoded[text]


def _batch(drawings: list[Drawing]) -> Batch:
    seen = [drawing.image.resize((SIDE, SIDE), Image.Resampling.LANCZOS) for drawing in drawings]
    pixels = torch.from_numpy(np.stack([np.asarray(image, dtype=np.float32) for image in seen]))
    patches = np.stack([patch_classes(drawing, PATCH) for drawing in drawings])
    return Batch((pixels.permute(0, 3, 1, 2) / 127.5 - 1).contiguous(), torch.from_numpy(patches))


class Student(nn.Module):
    """The model, and the layer that says what is in a patch."""

    def __init__(self, tokenizer, start: Path | None) -> None:
        super().__init__()
        self.model = (load_model(start) if start else make_model(tokenizer)).train()
        self.patches = nn.Linear(WIDTH, CLASSES + 1 + MAX_PLACES)
        self.class_weights = torch.tensor([EMPTY_WEIGHT] + [1.0] * (CLASSES - 1))
        self.image_id = tokenizer.convert_tokens_to_ids(IMAGE)

    def seen(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Patches as the tower reads them, and the loss of that."""
        hidden = self.model.model.vision_model(pixel_values=batch.pixels).last_hidden_state
        found = self.patches(hidden).flatten(0, 1)
        classes, places = batch.patches.flatten(0, 1).unbind(-1)
        loss = F.cross_entropy(found[:, :CLASSES], classes, self.class_weights)
        return hidden, loss + F.cross_entropy(found[:, CLASSES:], places)

    def answers(self, hidden: Tensor, chats: Chats) -> Tensor:
        """The loss of the answers."""
        inner = self.model.model
        inputs = inner.text_model.get_input_embeddings()(chats.ids)
        is_image = (chats.ids == self.image_id).unsqueeze(-1)
        inputs = inputs.masked_scatter(is_image, inner.connector(hidden))
        states = inner.text_model(inputs_embeds=inputs, use_cache=False).last_hidden_state
        wanted = chats.wanted[:, 1:]
        logits = self.model.lm_head(states[:, :-1][wanted])
        return F.cross_entropy(logits, chats.ids[:, 1:][wanted])


def optimizers_of(student: Student, rate: float) -> list[torch.optim.Optimizer]:
    """Muon for matrices within layers, AdamW for all else."""
    matrices, others = [], []
    for name, parameter in student.named_parameters():
        inner = parameter.dim() == 2 and ("layers" in name or "connector" in name)
        (matrices if inner else others).append(parameter)
    adam = torch.optim.AdamW(others, lr=0.15 * rate, betas=(0.9, 0.98), weight_decay=0.0)
    return [Muon(matrices, lr=rate), adam]


def rate_at(progress: float) -> float:
    """The share of the learning rate: a warm-up, a plateau, a straight way down."""
    if progress < WARMUP:
        return progress / WARMUP
    return min(1.0, (1 - progress) / (1 - PLATEAU))


def train(args: argparse.Namespace) -> None:
    torch.manual_seed(args.seed)
    teacher = Teacher(args.seed, args.batch)
    student = Student(teacher.tokenizer, args.start)
    optimizers = optimizers_of(student, args.learning_rate)
    rates = [optimizer.param_groups[0]["lr"] for optimizer in optimizers]
    started = time.monotonic()
    saved = started
    means = np.zeros(2)
    for step in range(1, args.steps + 1):
        progress = step / args.steps
        for optimizer, rate in zip(optimizers, rates):
            optimizer.param_groups[0]["lr"] = rate * rate_at(progress)
        answers = torch.zeros(())
        if progress < ALONE:
            _, patches = student.seen(teacher.pages())
        else:
            batch, chats = teacher.chats()
            hidden, patches = student.seen(batch)
            answers = student.answers(hidden, chats)
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        (answers + PATCH_WEIGHT * patches).backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        means += (float(answers.detach()), float(patches.detach()))
        if step % REPORT_EVERY == 0:
            answer_mean, patch_mean = means / REPORT_EVERY
            seconds = time.monotonic() - started
            print(
                f"step {step}, {step * args.batch / seconds:.0f} images/s, {seconds:.0f} s:"
                f" answers {answer_mean:.3f}, patches {patch_mean:.3f}",
                flush=True,
            )
            means[:] = 0
        if time.monotonic() - saved > SAVE_EVERY:
            save(args, student, step)
            saved = time.monotonic()
    save(args, student, args.steps)


def save(args: argparse.Namespace, student: Student, step: int) -> None:
    parameters = sum(parameter.numel() for parameter in student.model.parameters())
    run = {"seed": args.seed, "steps": step, "images": step * args.batch}
    write_folder(args.out, student.model, {"parameters": parameters, **run})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="model folder to write")
    parser.add_argument("--start", type=Path, help="model folder to go on from, in place of fresh weights")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=48, help="images in a step")
    parser.add_argument("--learning-rate", type=float, default=0.01, help="Muon's")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.set_flush_denormal(True)
    train(args)


if __name__ == "__main__":
    main()
