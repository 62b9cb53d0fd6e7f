"""The tokens that PyTorch finds likeliest, for the references of exports."""

import torch

NEW_TOKENS = 16


def greedy(model, prompt):
    tokens, first = list(prompt), None
    with torch.no_grad():
        for _ in range(NEW_TOKENS):
            logits = model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1]
            first = logits if first is None else first
            tokens.append(int(logits.argmax()))
    return {"prompt": prompt, "logits": [round(value, 5) for value in first.tolist()], "greedy": tokens[len(prompt):]}
