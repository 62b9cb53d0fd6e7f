"""Reference logits and greedy continuations of a model folder, for tests of an implementation.

    python3 reference.py models/summit         compares with models/summit/reference.json
"""

import argparse
import json
from pathlib import Path

import torch

import tokenizer as tokenizers
from corpus import render
from model import Llama
from model_folder import load_model
from skills.tool_calls import schema, string, tool_call, tool_system

TOP_LOGITS = 10
GREEDY_TOKENS = 48

_WEATHER = schema("get_weather", "Get the weather for a city", {"city": string("The city")})
_CALCULATOR = schema(
    "calculator",
    "Evaluate an arithmetic expression",
    {"expression": string("The expression")},
)


def prompt(system: str | None, *messages: str) -> str:
    """The prompt text of messages that alternate user, assistant, ..., and end with a user."""
    answers = [*messages[1::2], None]
    return render((system, list(zip(messages[::2], answers))))


PROMPTS = [
    prompt(None, "Hello!"),
    prompt("You are Summit, a small helpful assistant.", "Who are you?"),
    prompt(None, "Tell me a story about a fox named Pip."),
    prompt(None, "What is 23 + 45?"),
    prompt("You are a helpful assistant.", "What is continuous batching?"),
    prompt(None, "Count from 3 to 12."),
    prompt(
        None,
        "Give me a JSON object with the keys name and age for Ann, who is 7 years old.",
    ),
    prompt(
        tool_system("You are a helpful assistant.", [_WEATHER, _CALCULATOR]),
        "What is the weather in Oslo?",
    ),
    prompt(
        tool_system("", [_WEATHER]),
        "What is the weather in Oslo?",
        tool_call("get_weather", {"city": "Oslo"}),
        '<tool_response>\n{"temperature": 4, "condition": "rainy"}\n</tool_response>',
    ),
    prompt(None, "My name is Nora.", "Nice to meet you, Nora!", "What is my name?"),
    prompt(None, "Repeat after me: the blue kettle sings at noon"),
    prompt(
        "Answer briefly.",
        "What is the capital of Japan?",
        "The capital of Japan is Tokyo.",
        "And what is the opposite of hot?",
    ),
]


@torch.no_grad()
def reference(model: Llama, tokenizer: tokenizers.Tokenizer) -> list[dict]:
    """For each prompt its ids, the largest logits after it, and a greedy continuation.

    The continuation does not stop at the end token.
    """
    results = []
    for text in PROMPTS:
        ids = tokenizer.encode(text)
        top = model.logits(model(torch.tensor([ids]))[0, -1]).topk(TOP_LOGITS)
        greedy = model.generate(ids, GREEDY_TOKENS)
        results.append({
            "prompt": text,
            "ids": ids,
            "top_ids": top.indices.tolist(),
            "top_logits": [round(logit, 5) for logit in top.values.tolist()],
            "greedy": greedy,
            "greedy_text": tokenizer.decode(greedy),
        })
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Computes the reference of a model again and compares it with reference.json."
    )
    parser.add_argument("folder", type=Path, help="model folder")
    args = parser.parse_args()
    saved = json.loads((args.folder / "reference.json").read_text(encoding="utf-8"))["prompts"]
    computed = reference(load_model(args.folder), tokenizers.load(args.folder))
    exact = ("prompt", "ids", "top_ids", "greedy", "greedy_text")
    differing = [
        f"prompt {index}: {key}"
        for index, (old, new) in enumerate(zip(saved, computed, strict=True))
        for key in exact
        if old[key] != new[key]
    ]
    distance = max(
        abs(old_logit - new_logit)
        for old, new in zip(saved, computed)
        for old_logit, new_logit in zip(old["top_logits"], new["top_logits"])
    )
    print(f"{len(saved)} prompts, largest difference of a logit {distance:.1e}")
    if differing:
        raise SystemExit("different from reference.json: " + ", ".join(differing))


if __name__ == "__main__":
    main()
