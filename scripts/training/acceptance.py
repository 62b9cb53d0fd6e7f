"""How many of a draft model's tokens come true: the answers of a target model, guessed.

    python3 acceptance.py models/summit models/foothill STUDENT...

The target answers the first question of fresh documents, greedily. What a draft would have brought at
each place is known from one pass over the answer: its tokens come true as long as both choose alike.
No clock is read, so the machine's load changes nothing.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch

import tokenizer as tokenizers
from corpus import document
from model import Llama
from model_folder import load_model
from reference import prompt

SEED = 815
MAX_TOKENS = 160


@dataclass
class Drafts:
    """Of greedy decoding with drafts of a fixed length."""

    steps: int = 0
    tokens: int = 0
    drafted: int = 0
    accepted: int = 0

    def add(self, is_same: list[bool], length: int) -> None:
        """Decodes a text; `is_same` says where the draft model chooses the text's token."""
        at = 0
        while at < len(is_same):
            draft = is_same[at : at + length]
            accepted = draft.index(False) if False in draft else len(draft)
            # The target adds a token of its own, unless the text is over.
            emitted = min(accepted + 1, len(is_same) - at)
            self.steps += 1
            self.tokens += emitted
            self.drafted += len(draft)
            self.accepted += accepted
            at += emitted


@torch.no_grad()
def answers(
    target: Llama, tokenizer: tokenizers.Tokenizer, documents: int
) -> Iterator[tuple[list[int], int]]:
    """(prompt and answer, tokens of the prompt) of each document."""
    rng = Random(SEED)
    for _ in range(documents):
        system, turns = document(rng)
        ids = tokenizer.encode(prompt(system, turns[0][0]))
        yield ids + target.generate(ids, MAX_TOKENS, stop=(tokenizers.EOS_ID,)), len(ids)


@torch.no_grad()
def same_choices(draft: Llama, ids: list[int], num_prompt: int) -> list[bool]:
    """Of the answer's tokens but the first, which comes with the prompt."""
    inputs = torch.tensor([ids])
    choices = draft.logits(draft(inputs)[0, num_prompt:-1]).argmax(-1)
    return (choices == inputs[0, num_prompt + 1 :]).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description="Says how many tokens of drafts come true.")
    parser.add_argument("target", type=Path, help="model folder")
    parser.add_argument("drafts", type=Path, nargs="+", help="model folders")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--length", type=int, default=4, help="tokens of a draft")
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    tokenizer = tokenizers.load(args.target)
    texts = list(answers(load_model(args.target), tokenizer, args.documents))
    for folder in args.drafts:
        draft = load_model(folder)
        drafts = Drafts()
        places = [same_choices(draft, *text) for text in texts]
        for each in places:
            drafts.add(each, args.length)
        same = sum(map(sum, places)) / sum(map(len, places))
        print(
            f"{folder}: {drafts.tokens} tokens, same choice {same:.1%}, accepted"
            f" {drafts.accepted / drafts.drafted:.1%}, {drafts.tokens / drafts.steps:.2f} tokens a step",
            flush=True,
        )


if __name__ == "__main__":
    main()
