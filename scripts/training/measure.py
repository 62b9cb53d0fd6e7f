"""Measures a model: the accuracy on exercises, the perplexity, the agreement with another one."""

import json
import math
from random import Random

import torch

from corpus import document
from dataset import encode
from exercises import Exercise, exercises
from model import Llama
from reference import prompt
from tokenizer import EOS_ID, Tokenizer

REPORTED_MISSES = 3


def _same_text(got: str, wanted: str) -> bool:
    return got.strip() == wanted.strip()


def _is_json(got: str, _wanted: str) -> bool:
    try:
        json.loads(got)
    except ValueError:
        return False
    return True


def _same_json(got: str, wanted: str) -> bool:
    return _is_json(got, wanted) and json.loads(got) == json.loads(wanted)


_CHECKS = {"text": _same_text, "json": _is_json, "json-value": _same_json}


class _Examiner:
    """Asks a model and keeps the results and some of the misses."""

    def __init__(self, model: Llama, tokenizer: Tokenizer) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.results: dict[str, dict] = {}
        self.misses: dict[str, list[dict]] = {}

    def run(self, exercise: Exercise) -> None:
        """Asks each question in a chat of its own, greedily."""
        name, cases, max_tokens, check = exercise
        is_right = _CHECKS[check]
        correct = 0
        misses = []
        for question, wanted, system in cases:
            ids = self.tokenizer.encode(prompt(system, question))
            answer = self.model.generate(ids, max_tokens, stop=(EOS_ID,))
            got = self.tokenizer.decode(answer, skip_control=True)
            if is_right(got, wanted):
                correct += 1
            else:
                misses.append({"question": question, "got": got, "wanted": wanted})
        accuracy = round(correct / len(cases), 3)
        self.results[name] = {"correct": correct, "cases": len(cases), "accuracy": accuracy}
        self.misses[name] = misses[:REPORTED_MISSES]
        print(f"{name}: {correct} of {len(cases)}", flush=True)


def measure(
    model: Llama, tokenizer: Tokenizer, seed: int = 2024
) -> tuple[dict[str, dict], dict[str, list[dict]]]:
    """(results, some of the misses) for each kind of exercise."""
    examiner = _Examiner(model, tokenizer)
    for exercise in exercises(seed):
        examiner.run(exercise)
    return examiner.results, examiner.misses


@torch.no_grad()
def perplexity(model: Llama, tokenizer: Tokenizer, documents: int = 400, seed: int = 4711) -> dict:
    """The perplexity of what the assistant says in fresh documents, and of all tokens."""
    rng = Random(seed)
    assistant_loss = all_loss = 0.0
    assistant_tokens = all_tokens = 0
    for _ in range(documents):
        ids, weights = encode(tokenizer, document(rng))
        logits = model.logits(model(torch.tensor([ids]))[0, :-1])
        targets = torch.tensor(ids[1:])[:, None]
        log_probabilities = torch.log_softmax(logits, -1).gather(1, targets)[:, 0]
        by_assistant = torch.tensor(weights[1:]) >= 1
        assistant_loss -= float(log_probabilities[by_assistant].sum())
        assistant_tokens += int(by_assistant.sum())
        all_loss -= float(log_probabilities.sum())
        all_tokens += len(log_probabilities)
    return {
        "documents": documents,
        "assistant_tokens": assistant_tokens,
        "assistant": round(math.exp(assistant_loss / assistant_tokens), 4),
        "all_tokens": all_tokens,
        "all": round(math.exp(all_loss / all_tokens), 4),
    }


@torch.no_grad()
def agreement(
    model: Llama, other: Llama, tokenizer: Tokenizer, documents: int = 200, seed: int = 815
) -> float:
    """How often two models choose the same token, over what the assistant says."""
    rng = Random(seed)
    same = total = 0
    for _ in range(documents):
        ids, weights = encode(tokenizer, document(rng))
        inputs = torch.tensor([ids])
        choice, other_choice = (
            each.logits(each(inputs)[0, :-1]).argmax(-1) for each in (model, other)
        )
        by_assistant = torch.tensor(weights[1:]) >= 1
        same += int((choice == other_choice)[by_assistant].sum())
        total += int(by_assistant.sum())
    return round(same / total, 4)
