"""CPU time that an encoder takes for a text in PyTorch: the texts of scripts/bench/batching.ts.

    python3 minilm_torch.py FOLDER

One thread. Texts one by one, 32 as they come, and 32 of like length, as sentence-transformers batches
texts that it has all at once.
"""

import math
import random
import sys
import time

import torch
from transformers import AutoModel

NUM_TEXTS, BATCH, MEDIAN_TOKENS, MAX_TOKENS = 256, 32, 32, 256
ROUNDS = 3


def texts() -> list[list[int]]:
    source = random.Random(1)
    lengths = [source.lognormvariate(math.log(MEDIAN_TOKENS), 0.8) for _ in range(NUM_TEXTS)]
    return [
        [source.randrange(2000, 22000) for _ in range(max(3, min(round(length), MAX_TOKENS)))]
        for length in lengths
    ]


def embed(model, batch: list[list[int]]) -> torch.Tensor:
    longest = max(map(len, batch))
    ids = torch.tensor([text + [0] * (longest - len(text)) for text in batch])
    mask = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in batch])
    hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
    weights = mask.unsqueeze(-1)
    return torch.nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1))


def main() -> None:
    torch.set_num_threads(1)
    model = AutoModel.from_pretrained(sys.argv[1]).eval()
    every = texts()
    ways = {"one by one": (every, 1), "as they come": (every, BATCH)}
    ways["of like length"] = (sorted(every, key=len), BATCH)
    for way, (order, size) in ways.items():
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        best = math.inf
        for _ in range(ROUNDS):
            start = time.process_time()
            with torch.inference_mode():
                for batch in batches:
                    embed(model, batch)
            best = min(best, time.process_time() - start)
        print(f"{way}: {1000 * best / len(every):.1f} ms per text")


if __name__ == "__main__":
    main()
