"""Batches for a student: documents of the corpus, or texts with soft targets, padded."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch
from torch import Tensor

import tokenizer as tokenizers
from corpus import Document, document, mixed_document
from dataset import USER_WEIGHT, encode
from soft_targets import SoftTargets, read_targets

Rewrite = Callable[[Document], Document]

LONGEST = 256
# Texts that are sorted by length together, so that little is padding.
POOL = 256
HELD_OUT_SEED = 99
HELD_OUT_DOCUMENTS = 96


@dataclass(frozen=True)
class Text:
    """Token ids, and for each token but the first the weight of its loss."""

    ids: list[int]
    weights: list[float]
    targets: SoftTargets | None = None


@dataclass(frozen=True)
class Batch:
    """ids [B, T]; of the tokens after the first: weights [B, T - 1], and the teacher's [B, T - 1, k]."""

    ids: Tensor
    weights: Tensor
    top_ids: Tensor | None = None
    top_logprobs: Tensor | None = None


def as_it_is(chat: Document) -> Document:
    return chat


def corpus_texts(
    tokenizer: tokenizers.Tokenizer, seed: int, rewrite: Rewrite = as_it_is
) -> Iterator[Text]:
    """Endless."""
    rng = Random(seed)
    while True:
        yield _text_of(*encode(tokenizer, rewrite(mixed_document(rng))))


def target_texts(path: Path, seed: int) -> Iterator[Text]:
    """All texts of a file, again and again, each time in another order."""
    # A prompt that fills a text leaves nothing to learn.
    texts = [_text_with(each) for each in read_targets(path) if each.first < LONGEST]
    rng = Random(seed)
    while True:
        rng.shuffle(texts)
        yield from texts


def held_out(tokenizer: tokenizers.Tokenizer, rewrite: Rewrite = as_it_is) -> list[Batch]:
    """What a student is measured with: no text of the training."""
    rng = Random(HELD_OUT_SEED)
    texts = [
        _text_of(*encode(tokenizer, rewrite(document(rng)))) for _ in range(HELD_OUT_DOCUMENTS)
    ]
    spoken = [Text(each.ids, [float(weight >= 1) for weight in each.weights]) for each in texts]
    return [_pad(part) for part in _parts(spoken, 4096)]


def batches(texts: Iterator[Text], tokens: int, seed: int) -> Iterator[Batch]:
    """Batches of about so many tokens, padding included."""
    rng = Random(seed)
    while True:
        parts = list(_parts([next(texts) for _ in range(POOL)], tokens))
        rng.shuffle(parts)
        yield from map(_pad, parts)


def _text_of(ids: list[int], weights: list[float]) -> Text:
    return Text(ids[:LONGEST], weights[1:LONGEST])


def _text_with(targets: SoftTargets) -> Text:
    """Only tokens that have targets count; those of a prompt as little as a user's."""
    weights = [
        0.0 if at < targets.first else USER_WEIGHT if at < targets.num_prompt else 1.0
        for at in range(1, len(targets.tokens))
    ]
    return Text(targets.tokens[:LONGEST], weights[: LONGEST - 1], targets)


def _parts(texts: list[Text], tokens: int) -> Iterator[list[Text]]:
    part: list[Text] = []
    for text in sorted(texts, key=lambda each: len(each.ids)):
        if part and len(text.ids) * (len(part) + 1) > tokens:
            yield part
            part = []
        part.append(text)
    yield part


def _pad(texts: list[Text]) -> Batch:
    length = max(len(text.ids) for text in texts)
    ids = torch.zeros(len(texts), length, dtype=torch.long)
    weights = torch.zeros(len(texts), length - 1)
    for row, text in enumerate(texts):
        ids[row, : len(text.ids)] = torch.tensor(text.ids)
        weights[row, : len(text.weights)] = torch.tensor(text.weights)
    first = texts[0].targets
    if first is None:
        return Batch(ids, weights)
    shape = (len(texts), length - 1, first.ids.shape[1])
    top_ids, top_logprobs = torch.zeros(shape, dtype=torch.long), torch.zeros(shape)
    for row, text in enumerate(texts):
        begin, end = text.targets.first - 1, len(text.ids) - 1
        top_ids[row, begin:end] = torch.from_numpy(text.targets.ids[: end - begin])
        top_logprobs[row, begin:end] = torch.from_numpy(text.targets.logprobs[: end - begin])
    return Batch(ids, weights, top_ids, top_logprobs)
