"""Trains the LoRA adapter that comes with Summit: it talks like a pirate.

    python3 adapter.py models/summit models/summit/adapters/pirate

The folder is as PEFT stores adapters, with reference.json: logits and greedy continuations of the
prompts of reference.py, and how often answers to fresh questions are a pirate's.
"""

import argparse
import os
from pathlib import Path
from random import Random

import torch

import tokenizer as tokenizers
from corpus import document
from descent import descend
from lora import add_lora, load_adapter, write_adapter
from model import Llama
from model_folder import load_model
from pirate import in_pirate, is_data, is_pirate, pirate_document
from reference import prompt, reference
from student import held_out_perplexity, loss_of
from student_data import batches, corpus_texts, held_out
from tokenizer import EOS_ID

# Another seed than those of the corpus and of what students are measured with.
QUESTIONS_SEED = 1717
QUESTIONS = 40
LONGEST_ANSWER = 200
NOTE = (
    "Logits and greedy continuations are computed with float16 weights of model and adapter in"
    " float32, without a stop at the end token."
)


def train(model: Llama, tokenizer: tokenizers.Tokenizer, args: argparse.Namespace) -> int:
    """Trains the adapter of a model. Returns the number of tokens that counted."""
    trained = add_lora(model, args.rank, args.alpha)
    optimizer = torch.optim.AdamW(trained, lr=args.learning_rate, betas=(0.9, 0.97), weight_decay=0)
    data = batches(corpus_texts(tokenizer, args.seed, pirate_document), args.tokens, args.seed)
    seen = 0

    def loss_of_batch() -> torch.Tensor:
        nonlocal seen
        batch = next(data)
        seen += int((batch.weights > 0).sum())
        return loss_of(model, batch, None, 1.0, 0.0)[0]

    descend(optimizer, loss_of_batch, steps=args.steps, learning_rate=args.learning_rate)
    return seen


def questions() -> list[tuple[str | None, str, str]]:
    """(system message, question, what the corpus answers) of fresh chats."""
    rng = Random(QUESTIONS_SEED)
    chats = (document(rng) for _ in range(QUESTIONS))
    return [(system, turns[0][0], turns[0][1]) for system, turns in chats]


def speech(model: Llama, tokenizer: tokenizers.Tokenizer) -> dict[str, int]:
    """How many answers are a pirate's, of those that are no JSON and no tool call; and of the others."""
    counts = {"texts": 0, "pirate": 0, "data": 0, "plain_data": 0}
    for system, question, wanted in questions():
        ids = model.generate(
            tokenizer.encode(prompt(system, question)), LONGEST_ANSWER, stop=(EOS_ID,)
        )
        answer = tokenizer.decode(ids, skip_control=True)
        if is_data(wanted):
            counts["data"] += 1
            counts["plain_data"] += is_data(answer) and in_pirate(answer) == answer
        else:
            counts["texts"] += 1
            counts["pirate"] += is_pirate(answer)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the LoRA adapter that comes with Summit.")
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("output", type=Path, help="adapter's folder to write")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--alpha", type=int, default=16)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--tokens", type=int, default=2048, help="in a step, padding included")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.set_flush_denormal(True)
    torch.manual_seed(args.seed)

    tokenizer = tokenizers.load(args.model)
    held = held_out(tokenizer, pirate_document)
    before = held_out_perplexity(load_model(args.model), held)
    model = load_model(args.model).train()
    seen = train(model, tokenizer, args)
    write_adapter(args.output, model, args.model.name, args.rank, args.alpha)

    adapted = load_adapter(args.output, load_model(args.model))
    info = {
        "model": args.model.name,
        "steps": args.steps,
        "learning_rate": args.learning_rate,
        "seed": args.seed,
        "trained_tokens": seen,
        "perplexity_before": round(before, 4),
        "perplexity": round(held_out_perplexity(adapted, held), 4),
        "speech_before": speech(load_model(args.model), tokenizer),
        "speech": speech(adapted, tokenizer),
        "note": NOTE,
    }
    prompts = reference(adapted, tokenizer)
    tokenizers.write_json(args.output / "reference.json", {**info, "prompts": prompts})
    print(info)
    for each in prompts:
        print(repr(each["prompt"][-100:]), "->", repr(each["greedy_text"]))


if __name__ == "__main__":
    main()
