"""What Transformers computes in float32 with a real GGUF model: greedy continuations of chat prompts.

Usage: python3 scripts/references/real_model.py <file.gguf> test/fixtures/real-models/smollm2-135m-instruct-q4_1.json [drafts.json]
Drafts, a list of tokens for each prompt, change nothing but the time: each that is right saves a run.
Needs: pip install torch transformers gguf (written with 2.15, 5.23 and 0.19)
"""

import json
import math
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

TOKENS = 64
PROMPTS = [
    "What is the capital of France?",
    "Write a short poem about the sea.",
    "Explain photosynthesis to a child.",
    "List three uses of a paper clip.",
    "What is 12 times 12?",
    "Translate 'good morning' into Spanish.",
    "Who wrote Romeo and Juliet?",
    "Give me a recipe for pancakes.",
    "Why is the sky blue?",
    "Write a Python function that reverses a string.",
    "What is the largest planet?",
    "Summarize the story of Cinderella in two sentences.",
    "How do bees make honey?",
    "Name five animals that live in Africa.",
    "What does CPU stand for?",
    "Tell me a joke.",
    "What should I pack for a trip to the mountains?",
    "How many legs does a spider have?",
    "Write a polite email declining a meeting.",
    "What is the difference between weather and climate?",
]
TEXT = (
    "The lighthouse stood at the end of the long stone pier, and every evening the keeper climbed "
    "its narrow stairs to light the lamp. Ships that passed in the night could see it from many miles "
    "away. In winter, when storms came from the north, the waves broke over the pier and the keeper "
    "could not go home for days. He read old books, mended his nets, and wrote letters to his daughter, "
    "who had moved to the city to study medicine."
)


def main() -> None:
    path = Path(sys.argv[1])
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    model.eval()
    drafts = json.loads(Path(sys.argv[3]).read_text()) if len(sys.argv) > 3 else None
    cases = []
    for prompt in PROMPTS:
        messages = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        draft = drafts[len(cases)] if drafts else []
        tokens, margins = [], []
        while len(tokens) < TOKENS:
            # Drafted tokens up to the first wrong one, and the one that is right there.
            rest = draft[len(tokens) :]
            with torch.no_grad():
                logits = model(torch.tensor([ids + tokens + rest])).logits[0].double()
            for guess in [*rest, None]:
                top = torch.topk(logits[len(ids) + len(tokens) - 1], 2)
                tokens.append(int(top.indices[0]))
                margins.append(round(float(top.values[0] - top.values[1]), 5))
                if tokens[-1] != guess or len(tokens) == TOKENS:
                    break
            if draft[: len(tokens)] != tokens:
                draft = []
        cases.append({"prompt": prompt, "chat": text, "ids": ids, "greedy": tokens, "margins": margins})
        print(prompt, "->", tokenizer.decode(tokens)[:80].replace("\n", " "), flush=True)
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, :-1].double()
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:]))
    target = Path(sys.argv[2])
    known = json.loads(target.read_text()) if target.exists() else {}
    known["transformers"] = {
        "cases": cases,
        "text": TEXT,
        "textIds": ids,
        "perplexity": math.exp(float(loss)),
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(known) + "\n")


main()
