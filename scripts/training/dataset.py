"""The training data: documents as token ids, packed whole into rows of two lengths."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np

import tokenizer as tokenizers
from corpus import (
    Document,
    copy_document,
    document,
    final_document,
    mixed_document,
    polish_document,
)

# Documents of up to 256 tokens share rows of 256; longer ones share (and are cut to) rows of 768.
ROW_LENGTHS = (256, 768)

# The loss weight of everything that the assistant does not say; what it says has a weight of 1.
USER_WEIGHT = 0.1
# Weights are stored as integers: a weight of 1 is this number.
STORED_WEIGHT_ONE = 10

MAX_OPEN_ROWS = 60
# A row with fewer free tokens than this is full.
SMALLEST_GAP = 12


@dataclass(frozen=True)
class Source:
    """A data file: what makes its documents, how many, and from which seed."""

    make: Callable[[Random], Document]
    documents: int
    seed: int


SOURCES = {
    "data": Source(document, 125000, 7),
    "copy": Source(copy_document, 60000, 11),
    "mixed": Source(mixed_document, 72000, 21),
    "final": Source(final_document, 36000, 31),
    "polish": Source(polish_document, 16000, 41),
}


@dataclass
class Row:
    """Tokens of whole documents: ids, loss weights, and the number of the document, from 1."""

    ids: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)

    def add(self, ids: list[int], weights: list[float]) -> None:
        number = self.documents[-1] + 1 if self.documents else 1
        self.ids += ids
        self.weights += weights
        self.documents += [number] * len(ids)


def encode(tokenizer: tokenizers.Tokenizer, chat: Document) -> tuple[list[int], list[float]]:
    """The token ids of a document, and the loss weight of each token."""
    system, turns = chat
    ids: list[int] = []
    weights: list[float] = []

    def add(text: str, weight: float) -> None:
        tokens = tokenizer.encode(text)
        ids.extend(tokens)
        weights.extend([weight] * len(tokens))

    if system:
        add(f"<|im_start|>system\n{system}<|im_end|>\n", USER_WEIGHT)
    for user, assistant in turns:
        add(f"<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n", USER_WEIGHT)
        add(f"{assistant}<|im_end|>", 1.0)
        add("\n", USER_WEIGHT)
    return ids, weights


def pack(documents: Iterable[tuple[list[int], list[float]]], length: int) -> Iterator[Row]:
    """Packs documents into rows of at most `length` tokens (first fit over a pool of open rows)."""
    pool: list[Row] = []
    for ids, weights in documents:
        ids, weights = ids[:length], weights[:length]
        row = next((row for row in pool if len(row.ids) + len(ids) <= length), None)
        if row is None:
            row = Row()
            pool.append(row)
        row.add(ids, weights)
        done = [row for row in pool if len(row.ids) >= length - SMALLEST_GAP]
        if len(pool) > MAX_OPEN_ROWS and not done:
            done = [max(pool, key=lambda row: len(row.ids))]
        for row in done:
            pool = [each for each in pool if each is not row]
            yield row
    yield from pool


def build(folder: Path, name: str) -> None:
    """Writes the data file `<name>.npz`, with three arrays for each row length.

    X<length> holds token ids, W<length> stored weights, D<length> document numbers (0: padding).
    """
    started = time.time()
    source = SOURCES[name]
    tokenizer = tokenizers.load(folder / "tokenizer")
    rng = Random(source.seed)
    by_length: dict[int, list[tuple[list[int], list[float]]]] = {each: [] for each in ROW_LENGTHS}
    short, long = ROW_LENGTHS
    for _ in range(source.documents):
        ids, weights = encode(tokenizer, source.make(rng))
        by_length[short if len(ids) <= short else long].append((ids, weights))

    arrays = {}
    total = 0
    for length, documents in by_length.items():
        rows = list(pack(documents, length))
        tokens = np.zeros((len(rows), length), np.uint16)
        weights = np.zeros((len(rows), length), np.uint8)
        numbers = np.zeros((len(rows), length), np.uint8)
        for index, row in enumerate(rows):
            size = len(row.ids)
            total += size
            tokens[index, :size] = row.ids
            weights[index, :size] = [int(STORED_WEIGHT_ONE * weight) for weight in row.weights]
            numbers[index, :size] = row.documents
        order = np.random.default_rng(source.seed).permutation(len(rows))
        arrays[f"X{length}"] = tokens[order]
        arrays[f"W{length}"] = weights[order]
        arrays[f"D{length}"] = numbers[order]
    np.savez(folder / f"{name}.npz", **arrays)
    print(f"{name}: {source.documents} documents, {total} tokens, {time.time() - started:.0f} s")
