"""Asks a model folder from the command line.

    python3 sample.py models/summit "What is 2 + 3?" "Tell me a story."
"""

import argparse
from pathlib import Path

import torch

import tokenizer as tokenizers
from model_folder import load_model
from reference import prompt
from tokenizer import EOS_ID


def main() -> None:
    parser = argparse.ArgumentParser(description="Asks a model, one question per chat.")
    parser.add_argument("folder", type=Path, help="model folder")
    parser.add_argument("questions", nargs="+", metavar="question")
    parser.add_argument(
        "--temperature", type=float, default=0.0, help="0 is greedy (default); seeded otherwise"
    )
    parser.add_argument("--max-tokens", type=int, default=400)
    args = parser.parse_args()

    torch.set_num_threads(1)
    model = load_model(args.folder)
    tokenizer = tokenizers.load(args.folder)
    generator = torch.Generator().manual_seed(0)
    for question in args.questions:
        ids = model.generate(
            tokenizer.encode(prompt(None, question)),
            args.max_tokens,
            stop=(EOS_ID,),
            temperature=args.temperature,
            generator=generator,
        )
        print(f"> {question}\n{tokenizer.decode(ids, skip_control=True)}\n")


if __name__ == "__main__":
    main()
