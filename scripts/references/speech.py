"""Tiny models that hear (Whisper), of random weights, with what Transformers computes from them.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/speech.py test/fixtures/speech            writes all models
    python3 scripts/references/speech.py test/fixtures/speech distil     writes the named ones

A model is a folder as `save_pretrained` writes it (bfloat16, computed in float32) and reference.json: what the
encoder makes of each window of features, and prompts with their logits and greedy continuations.
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
import transformers

from vision import base64_of, randomize, tokenizer

# A smaller lead of the greedy token could be lost to rounding.
MIN_LEAD = 5e-3
GREEDY_TOKENS = 14
# Taken over the greedy tokens of all prompts.
MIN_KINDS = 8
SEEDS = 20000
SPECIAL = [
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|en|>",
    "<|de|>",
    "<|translate|>",
    "<|transcribe|>",
    "<|startoflm|>",
    "<|startofprev|>",
    "<|nospeech|>",
    "<|notimestamps|>",
    *(f"<|{at / 50:.2f}|>" for at in range(25)),
]
# By window and prompt; the first two hear the same.
PROMPTS = [
    ("a", ["<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"]),
    ("a", ["<|startoftranscript|>", "<|de|>", "<|translate|>", "<|notimestamps|>"]),
    ("b", ["<|startofprev|>", "t", "h", "<|startoftranscript|>", "<|en|>", "<|transcribe|>"]),
]
CASES = {
    "whisper": {"num_mel_bins": 80, "encoder_layers": 2, "decoder_layers": 2, "max_source_positions": 24},
    "large": {"num_mel_bins": 128, "encoder_layers": 2, "decoder_layers": 2, "max_source_positions": 40},
    "distil": {"num_mel_bins": 80, "encoder_layers": 3, "decoder_layers": 1, "max_source_positions": 33},
}


def make_model(case: dict, tokens) -> transformers.WhisperForConditionalGeneration:
    ids = tokens.convert_tokens_to_ids
    config = transformers.WhisperConfig(
        **case,
        vocab_size=len(tokens),
        d_model=64,
        encoder_attention_heads=4,
        decoder_attention_heads=2,
        encoder_ffn_dim=96,
        decoder_ffn_dim=112,
        max_target_positions=48,
        pad_token_id=ids("<|endoftext|>"),
        bos_token_id=ids("<|endoftext|>"),
        eos_token_id=ids("<|endoftext|>"),
        decoder_start_token_id=ids("<|startoftranscript|>"),
        suppress_tokens=None,
        begin_suppress_tokens=None,
        attn_implementation="eager",
    )
    return transformers.WhisperForConditionalGeneration(config)


def windows(case: dict) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(7)
    shape = (case["num_mel_bins"], 2 * case["max_source_positions"])
    return {name: torch.randn(shape, generator=generator).to(torch.bfloat16).float() for name in "ab"}


def continuation(model, features: torch.Tensor, ids: list[int]):
    """Greedy tokens with all logits; none where a lead is too small to be sure of."""
    greedy, rows = [], []
    encoded = model.model.encoder(features[None])
    for _ in range(GREEDY_TOKENS):
        made = model(encoder_outputs=encoded, decoder_input_ids=torch.tensor([ids + greedy]), use_cache=False)
        row = made.logits[0, -1]
        best = row.topk(2)
        if best.values[0] - best.values[1] < MIN_LEAD:
            return None
        greedy.append(best.indices[0].item())
        rows.append(row)
    return greedy, rows


def write(folder: Path, case: dict) -> None:
    tokens = tokenizer(SPECIAL, "<|endoftext|>", "<|endoftext|>")
    heard = windows(case)
    prompts = [(window, tokens.convert_tokens_to_ids(prompt)) for window, prompt in PROMPTS]
    for seed in range(SEEDS):
        model = make_model(case, tokens)
        randomize(model, seed)
        model.eval()
        with torch.no_grad():
            made = [continuation(model, heard[window], ids) for window, ids in prompts]
        if any(each is None for each in made):
            continue
        if len({token for greedy, _ in made for token in greedy}) < MIN_KINDS:
            continue
        # Speech shows in the text.
        with torch.no_grad():
            other = continuation(model, heard["b"], prompts[0][1])
        if other is not None and other[0] != made[0][0] and made[0][0] != made[1][0]:
            break
    with torch.no_grad():
        encoded = {name: model.model.encoder(each[None]).last_hidden_state[0] for name, each in heard.items()}
    shutil.rmtree(folder, ignore_errors=True)
    num_parameters = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokens.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    decoder = sum(parameter.numel() for parameter in model.model.decoder.parameters())
    reference = {
        "parameters": {"all": num_parameters, "decoder": decoder},
        "windows": {
            name: {"features": base64_of(each), "encoded": base64_of(encoded[name])} for name, each in heard.items()
        },
        "prompts": [
            {"window": window, "ids": ids, "greedy": greedy, "logits": [base64_of(rows[0]), base64_of(rows[-1])]}
            for (window, ids), (greedy, rows) in zip(prompts, made, strict=True)
        ],
    }
    (folder / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")
    print(folder.name, "seed", seed, [greedy for greedy, _ in made])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(CASES)}")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.names or CASES:
        write(arguments.folder / name, CASES[name])


if __name__ == "__main__":
    main()
