"""What Transformers writes with the embedded model where its generation_config.json bans tokens and words:
writes test/fixtures/banned-words.json.

    python3 scripts/references/banned_words.py models test/fixtures/banned-words.json

Banned are tokens and words of the text that comes without a ban. Texts that depend on the last digits of a
float32 are left out.
"""

import json
import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

OPEN = "<|im_start|>assistant\n"
PROMPTS = 12
TOKENS = 24
# Several times what kernels of float32 differ by.
MARGIN = 1e-3


def generate(model, ids, **rules):
    given = model.generate(
        torch.tensor([ids]), do_sample=False, max_new_tokens=TOKENS, min_new_tokens=None, return_dict_in_generate=True,
        output_scores=True, **rules,
    )  # fmt: skip
    top = torch.stack([score[0].topk(2).values for score in given.scores])
    return given.sequences[0, len(ids) :].tolist(), float((top[:, 0] - top[:, 1]).min())


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1])
    name = folder / "foothill"
    model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32).eval()
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(name / "tokenizer.json"))
    cases = []
    with open(folder / "summit" / "eval.jsonl", encoding="utf-8") as lines:
        texts = [row["text"] for row in map(json.loads, lines) if OPEN in row.get("text", "")]
    for text in texts:
        head, opening, _ = text.partition(OPEN)
        ids = tokenizer.encode(head + opening, add_special_tokens=False)
        if len(ids) > 60:
            continue
        free, _ = generate(model, ids)
        if len(free) < 12:
            continue
        rules = {"suppress_tokens": [free[0], free[6]], "bad_words_ids": [free[2:4], free[8:11]]}
        written, margin = generate(model, ids, **rules)
        if margin > MARGIN and written != free:
            cases.append({"ids": ids, **rules, "free": free, "written": written})
        if len(cases) == PROMPTS:
            break
    pathlib.Path(sys.argv[2]).write_text(json.dumps(cases, separators=(",", ":")) + "\n", encoding="utf-8")
    print(len(cases))


main()
