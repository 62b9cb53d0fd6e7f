"""Trains a module that predicts the token after the next one, for a model that stays as it is.

    python3 prediction_module.py models/summit OUT --steps 1500

OUT is a model folder in MiMo's form, which `chairlift serve --speculative mtp` takes: the model's own weights and
the module. The module learns what the model predicts, one token further; its second and third prediction read what
the one before gave, as they do when drafts are made (EAGLE-3's training-time test, arXiv 2503.01840).
"""

import argparse
import json
import os
import shutil
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import tokenizer as tokenizers
from descent import descend
from distillation import soft_losses
from model import LayerCache, Layer, Llama, RMSNorm, rope_tables
from model_folder import NAME_PREFIX, load_model
from tensor_file import write_safetensors
from student import TOKENIZER_FILES
from student_data import Batch, batches, corpus_texts, held_out
from train import optimizer_of

PREDICTIONS = 3
# How much less each further prediction counts: it matters only where those before it came true.
LATER_WEIGHT = 0.8
MODULE_PREFIX = NAME_PREFIX + "mtp_layers.0."


class PredictionModule(nn.Module):
    """MiMo's: a layer over the hidden state of a token joined with the embedding of the next one."""

    def __init__(self, model: Llama) -> None:
        super().__init__()
        width = model.config.hidden_size
        self.hidden_layernorm = RMSNorm(width)
        self.token_layernorm = RMSNorm(width)
        self.input_proj = nn.Linear(2 * width, width, bias=False)
        layer = Layer(model.config)
        # A better beginning than chance.
        layer.load_state_dict(model.layers[-1].state_dict())
        self.layer = layer
        self.final_layernorm = RMSNorm(width)

    def forward(
        self, hidden: Tensor, embedded: Tensor, tables: tuple[Tensor, Tensor], mask: Tensor, cache: LayerCache
    ) -> Tensor:
        """The hidden states [B, T, hidden_size] that the LM head and the next prediction read."""
        joined = torch.cat([self.hidden_layernorm(hidden), self.token_layernorm(embedded)], -1)
        return self.final_layernorm(self.layer(self.input_proj(joined), *tables, mask, cache))


def masks(length: int) -> list[Tensor]:
    """Of each prediction, additive [T, S].

    The first attends to itself and what is before it. A later one attends to the first's keys up to where the
    text was known, then to those of the predictions between, each of another pass.
    """
    positions = torch.arange(length)
    behind = positions[:, None] - positions[None, :]
    allowed = []
    for number in range(PREDICTIONS):
        passes = [behind >= number] + [behind == number - later for later in range(1, number + 1)]
        allowed.append(torch.cat(passes, 1))
    return [torch.zeros(each.shape).masked_fill_(~each, float("-inf")) for each in allowed]


def predictions(module: PredictionModule, model: Llama, ids: Tensor, hidden: Tensor) -> list[Tensor]:
    """Hidden states [B, T - 1, hidden_size] of each prediction: at position i, of the token at i + 2."""
    embedded = model.embed_tokens(ids[:, 1:])
    # The first position has no embedding in checkpoints of this form.
    embedded = torch.cat([torch.zeros_like(embedded[:, :1]), embedded[:, 1:]], 1)
    length = embedded.shape[1]
    tables = rope_tables(length, model.config.head_dim, 0)
    cache: LayerCache = []
    given, made = hidden[:, :-1], []
    for mask in masks(length):
        made.append(module(given, embedded, tables, mask, cache))
        given = torch.cat([hidden[:, :1], made[-1][:, :-1]], 1)
    return made


def loss_of(module: PredictionModule, model: Llama, batch: Batch) -> Tensor:
    """Distance to what the model itself predicts where the assistant speaks."""
    with torch.no_grad():
        hidden = model(batch.ids)
        # The token at i + 2 is the one that the weight at i + 1 belongs to.
        used = batch.weights[:, 1:] >= 1
        wanted = model.logits(hidden[:, 1:-1][used]).float()
    total = hidden.new_zeros(())
    for number, states in enumerate(predictions(module, model, batch.ids, hidden)):
        # The first places of a text have nothing to predict from.
        at = used.clone()
        at[:, :number] = False
        distances = soft_losses(model.logits(states[:, :-1][at]).float(), wanted[at[used]], 1.0)
        total = total + LATER_WEIGHT**number * distances.mean()
    return total


@torch.no_grad()
def acceptance(module: PredictionModule, model: Llama, held: list[Batch]) -> list[float]:
    """How often the first 1, 2, ... predictions are all what the model itself holds likeliest."""
    true = [0] * PREDICTIONS
    count = 0
    for batch in held:
        hidden = model(batch.ids)
        likeliest = model.logits(hidden[:, 1:-1]).argmax(-1)
        made = predictions(module, model, batch.ids, hidden)
        same = [model.logits(states[:, :-1]).argmax(-1) == likeliest for states in made]
        used = batch.weights[:, 1:] >= 1
        # Drafts of a place: the first prediction there, the second at the next place, and so on.
        last = used.shape[1] - PREDICTIONS + 1
        drafted = used[:, :last]
        for number in range(1, PREDICTIONS):
            drafted = drafted & used[:, number : last + number]
        together = drafted.clone()
        for number in range(PREDICTIONS):
            together &= same[number][:, number : last + number]
            true[number] += int(together.sum())
        count += int(drafted.sum())
    return [round(each / count, 4) for each in true]


def write_folder(output: Path, source: Path, model: Llama, module: PredictionModule) -> None:
    """The model as MiMo's, whose queries, keys and values have biases: of 0."""
    output.mkdir(parents=True, exist_ok=True)
    weights = {NAME_PREFIX + name: tensor for name, tensor in model.state_dict().items()}
    for name, tensor in module.state_dict().items():
        weights[MODULE_PREFIX + name.removeprefix("layer.")] = tensor
    for name in [name for name in weights if name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight"))]:
        weights[name.replace("weight", "bias")] = torch.zeros(weights[name].shape[0])
    write_safetensors(
        output / "model.safetensors",
        {name: tensor.detach().numpy().astype(np.float16) for name, tensor in weights.items()},
    )
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    mimo = {"architectures": ["MiMoForCausalLM"], "model_type": "mimo", "num_nextn_predict_layers": 1}
    tokenizers.write_json(output / "config.json", {**config, **mimo, "attention_bias": True})
    for file in (*TOKENIZER_FILES, "generation_config.json"):
        shutil.copyfile(source / file, output / file)


def train(args: argparse.Namespace) -> dict:
    """Trains, writes the folder, and returns what is to be told of the run."""
    torch.manual_seed(args.seed)
    model = load_model(args.model).requires_grad_(False)
    module = PredictionModule(model)
    tokenizer = tokenizers.load(args.model)
    held = held_out(tokenizer)
    data = batches(corpus_texts(tokenizer, args.seed), args.tokens, args.seed)
    optimizer = optimizer_of(module, args.learning_rate)
    seconds = descend(
        optimizer,
        lambda: loss_of(module, model, next(data)),
        steps=args.steps,
        learning_rate=args.learning_rate,
        bfloat16=args.bfloat16,
    )
    write_folder(args.output, args.model, model, module)
    run = {
        "model": str(args.model),
        "steps": args.steps,
        "tokens": args.tokens,
        "learning_rate": args.learning_rate,
        "seed": args.seed,
        "parameters": sum(each.numel() for each in module.parameters()),
        "seconds": round(seconds, 1),
        "accepted": acceptance(module, model, held),
    }
    tokenizers.write_json(args.output / "training.json", run)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a module that predicts the token after the next one.")
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("output", type=Path, help="model folder to write")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--tokens", type=int, default=2048, help="in a step, padding included")
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--bfloat16", action="store_true", help="multiply in it: about twice as fast")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.set_flush_denormal(True)
    print(json.dumps(train(args)))


if __name__ == "__main__":
    main()
