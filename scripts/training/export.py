"""Writes a model folder from a checkpoint, then measures the exported weights.

    python3 export.py .cache/training summit models/summit

The folder gets the weights as float16, the configs, the tokenizer, and reference.json with
reference outputs and measurements, which are computed in float32 from the float16 weights.
"""

import argparse
import json
from pathlib import Path

import torch

import tokenizer as tokenizers
from measure import agreement, measure, perplexity
from model import CONFIGS
from model_folder import load_model, write_model
from reference import reference

NOTE = (
    "Logits and greedy continuations are computed with the float16 weights of model.safetensors in"
    " float32, without a stop at the end token."
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes a model folder from a checkpoint.")
    parser.add_argument("source", type=Path, help="folder of the tokenizer and the checkpoint")
    parser.add_argument("name", choices=CONFIGS, help="the model; its checkpoint is <name>.pt")
    parser.add_argument("output", type=Path, help="model folder to write")
    parser.add_argument(
        "--compare", type=Path, help="folder of Summit, to measure how often both choose the same"
    )
    args = parser.parse_args()
    torch.set_num_threads(2)

    checkpoint = torch.load(args.source / f"{args.name}.pt", map_location="cpu")
    write_model(args.output, args.name, checkpoint["model"])
    tokenizers.export(tokenizers.load(args.source / "tokenizer"), args.output)

    model = load_model(args.output)
    tokenizer = tokenizers.load(args.output)
    info = {
        "model": args.name,
        "parameters": model.parameter_count(),
        "training_tokens": checkpoint["seen"],
        "steps": checkpoint["step"],
        "training_loss": round(checkpoint["loss"], 4),
        "heldout_perplexity": perplexity(model, tokenizer),
        "note": NOTE,
    }
    if args.compare:
        summit = load_model(args.compare)
        info["same_choice_as_summit"] = agreement(model, summit, tokenizer)
    accuracy, misses = measure(model, tokenizer)
    prompts = reference(model, tokenizer)
    tokenizers.write_json(
        args.output / "reference.json", {**info, "accuracy": accuracy, "prompts": prompts}
    )
    tokenizers.write_json(args.source / f"{args.name}.misses.json", misses)
    for each in prompts:
        print(json.dumps(each["prompt"][-120:]), "->", json.dumps(each["greedy_text"]))


if __name__ == "__main__":
    main()
