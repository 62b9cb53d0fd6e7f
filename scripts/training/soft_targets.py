"""Reads the files that `chairlift distill-data` writes. Needs NumPy alone."""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FORMAT = "chairlift-soft-targets"
# Vocabularies up to this size have token ids of two bytes.
MOST_SHORT_IDS = 65536


@dataclass(frozen=True)
class SoftTargets:
    """A text, and for each of its tokens from `first` on what the teacher held likely there."""

    line: int
    tokens: list[int]
    num_prompt: int
    first: int
    # [len(tokens) - first, top_logprobs]: token ids, and natural logarithms as float32.
    ids: np.ndarray
    logprobs: np.ndarray


def read_header(path: Path) -> dict:
    """How the targets were made."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        header = json.loads(file.readline())
    if header.get("format") != FORMAT or header.get("version") != 1:
        raise ValueError(f"{path} has no soft targets of version 1")
    return header


def read_targets(path: Path) -> Iterator[SoftTargets]:
    """The texts in the order in which they were done."""
    header = read_header(path)
    id_type = "<u2" if header["vocab_size"] <= MOST_SHORT_IDS else "<u4"
    shape = (-1, header["top_logprobs"])
    with gzip.open(path, "rt", encoding="utf-8") as file:
        next(file)
        for text in file:
            record = json.loads(text)
            ids = np.frombuffer(base64.b64decode(record["ids"]), id_type)
            logprobs = np.frombuffer(base64.b64decode(record["logprobs"]), "<f2")
            yield SoftTargets(
                record["line"],
                record["tokens"],
                record["num_prompt"],
                record["first"],
                ids.astype(np.int64).reshape(shape),
                logprobs.astype(np.float32).reshape(shape),
            )
