"""What Transformers' beam search finds with the embedded model: writes test/fixtures/beams.json.gz.

    python3 scripts/references/beams.py models test/fixtures/beams.json.gz

Prompts are the beginnings of texts that the models were evaluated with, up to the assistant's first words. Those
of a group are cut to one length, so that a batch of them needs no padding. Prompts whose texts depend on the
last digits of a float32 are left out: those that find others when a little noise is added to the scores.
"""

import gzip
import json
import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM, LogitsProcessor, PreTrainedTokenizerFast

WIDTHS = [2, 4, 8]
PROMPTS = 200
# More are searched, since some are left out.
CANDIDATES = 250
GROUPS = 10
# Several times what kernels of float32 differ by.
NOISE = 1e-5
TRIALS = 3
LENGTH_PENALTIES = [1.0, 0.0, 2.0, -0.5, 0.6]
EARLY_STOPPING = [False, True, "never"]
OPEN = "<|im_start|>assistant\n"


def prompts(folder, tokenizer):
    """The token ids of the prompts: some end where an answer begins, others within it."""
    with open(folder / "summit" / "eval.jsonl", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = []
    for index, text in enumerate(row["text"] for row in rows if "text" in row):
        head, opening, answer = text.partition(OPEN)
        words = answer.split(" ")[: index % 7]
        text = head + opening + " ".join(words)
        ids = tokenizer.encode(text, add_special_tokens=False)
        if opening and len(ids) <= 120:
            found.append(ids)
        if len(found) == CANDIDATES:
            return found
    raise SystemExit(f"only {len(found)} texts are short enough")


class Noise(LogitsProcessor):
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, input_ids, scores):
        return scores + NOISE * torch.randn(scores.shape, generator=self.generator)


def search(model, prompts, settings, noise=()):
    """Every text of each search, the best first, without what pads it."""
    width = settings["width"]
    length = len(prompts[0])
    given = model.generate(
        torch.tensor(prompts),
        attention_mask=torch.ones((len(prompts), length), dtype=torch.long),
        do_sample=False,
        num_beams=width,
        num_return_sequences=width,
        max_new_tokens=settings["max_tokens"],
        min_new_tokens=settings["min_tokens"],
        length_penalty=settings["length_penalty"],
        early_stopping=settings["early_stopping"],
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
        logits_processor=list(noise),
    )
    texts = []
    for sequence, score, beams in zip(given.sequences, given.sequences_scores, given.beam_indices):
        end = length + int((beams >= 0).sum())
        texts.append([sequence[length:end].tolist(), round(float(score), 6)])
    return [texts[at : at + width] for at in range(0, len(texts), width)]


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1])
    name = folder / "foothill"
    model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32).eval()
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(name / "tokenizer.json"))
    found = sorted(prompts(folder, tokenizer), key=len)
    size = CANDIDATES // GROUPS
    cases = []
    for index in range(GROUPS):
        group = found[index * size : (index + 1) * size]
        group = [ids[: len(group[0])] for ids in group]
        settings = {
            "max_tokens": 8 + index,
            "min_tokens": [0, 0, 0, 5][index % 4],
            "length_penalty": LENGTH_PENALTIES[index % 5],
            "early_stopping": EARLY_STOPPING[index % 3],
        }
        of_widths = {str(width): search(model, group, {**settings, "width": width}) for width in WIDTHS}
        is_certain = [True] * size
        for width in WIDTHS:
            for seed in range(TRIALS):
                noisy = search(model, group, {**settings, "width": width}, [Noise(seed)])
                for at, texts in enumerate(noisy):
                    wanted = of_widths[str(width)][at]
                    is_certain[at] &= [ids for ids, _ in texts] == [ids for ids, _ in wanted]
        kept = [at for at in range(size) if is_certain[at]][: PROMPTS // GROUPS]
        for at in kept:
            ids = group[at]
            texts = {width: of_prompts[at] for width, of_prompts in of_widths.items()}
            cases.append({"ids": ids, **settings, "found": texts})
        print(index, sum(is_certain), end="\r", flush=True)
    with gzip.GzipFile(sys.argv[2], "wb", mtime=0) as packed:
        packed.write(json.dumps(cases, separators=(",", ":")).encode())


main()
