"""Trains a small hybrid of linear and full attention, and measures what rounding its matrices costs.

    python3 hybrid.py train OUT --teacher models/summit --steps 2000
    python3 hybrid.py errors FOLDER [--json]

The hybrid has Qwen3.5's form: three gated DeltaNet layers to one of full attention. OUT is a model folder that
`chairlift serve`, `eval` and `build` take. Needs: pip install torch transformers
"""

import argparse
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, Qwen3_5ForCausalLM, Qwen3_5TextConfig

import tokenizer as tokenizers
from descent import descend
from distillation import mixed_loss, soft_losses
from grids import int4_blocks, int8_blocks, int8_rows
from model_folder import BOS_ID, PAD_ID, load_model
from student import TOKENIZER_FILES
from student_data import Batch, batches, corpus_texts, held_out
from tokenizer import EOS_ID
from train import optimizer_of

ALPHA = 0.7


def shape(vocabulary_size: int) -> Qwen3_5TextConfig:
    """About 5.5 million weights."""
    return Qwen3_5TextConfig(
        vocab_size=vocabulary_size,
        hidden_size=256,
        intermediate_size=384,
        num_hidden_layers=8,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        linear_num_key_heads=4,
        linear_num_value_heads=8,
        linear_key_head_dim=32,
        linear_value_head_dim=32,
        linear_conv_kernel_dim=4,
        layer_types=(["linear_attention"] * 3 + ["full_attention"]) * 2,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        pad_token_id=PAD_ID,
    )


def used_logits(model: nn.Module, batch: Batch) -> Tensor:
    """[tokens whose loss counts, vocabulary]"""
    return model(batch.ids, use_cache=False).logits[:, :-1][batch.weights > 0].float()


def train(args: argparse.Namespace) -> dict:
    """Trains, writes the folder, and returns what is to be told of the run."""
    torch.manual_seed(args.seed)
    teacher = load_model(args.teacher)
    tokenizer = tokenizers.load(args.teacher)
    config = shape(teacher.config.vocabulary_size)
    student = Qwen3_5ForCausalLM(config).train()
    data = batches(corpus_texts(tokenizer, args.seed), args.tokens, args.seed)
    optimizer = optimizer_of(student, args.learning_rate)

    def loss_of_batch() -> Tensor:
        batch = next(data)
        used = batch.weights > 0
        logits = used_logits(student, batch)
        with torch.no_grad():
            wanted = teacher.logits(teacher(batch.ids)[:, :-1][used]).float()
        hard = F.cross_entropy(logits, batch.ids[:, 1:][used], reduction="none")
        return mixed_loss(hard, soft_losses(logits, wanted, 1.0), batch.weights[used], ALPHA)

    seconds = descend(
        optimizer,
        loss_of_batch,
        steps=args.steps,
        learning_rate=args.learning_rate,
        bfloat16=True,
    )
    student.eval().save_pretrained(args.output)
    for file in (*TOKENIZER_FILES, "generation_config.json"):
        shutil.copyfile(args.teacher / file, args.output / file)
    run = {
        "teacher": str(args.teacher),
        "steps": args.steps,
        "tokens": args.tokens,
        "learning_rate": args.learning_rate,
        "seed": args.seed,
        "parameters": sum(each.numel() for each in student.parameters()),
        "seconds": round(seconds, 1),
        "perplexity": round(Measure(student, held_out(tokenizer)).perplexity, 4),
    }
    tokenizers.write_json(args.output / "training.json", run)
    return run


class Measure:
    """Predictions of texts that no training has seen, and how far others are from these."""

    def __init__(self, model: nn.Module, held: list[Batch]) -> None:
        self.model = model
        self.held = held
        self.wanted = list(self._logprobs())

    @property
    def perplexity(self) -> float:
        return self._perplexity(self.wanted)

    def now(self) -> dict[str, float]:
        """Perplexity; mean divergence in nats and share of equal likeliest tokens, beside those of before."""
        found = list(self._logprobs())
        wanted, other = torch.cat(self.wanted), torch.cat(found)
        nats = F.kl_div(other, wanted, log_target=True, reduction="none").sum(-1).mean()
        same = (wanted.argmax(-1) == other.argmax(-1)).float().mean()
        return {
            "perplexity": round(self._perplexity(found), 4),
            "nats": round(float(nats), 6),
            "same": round(float(same), 4),
        }

    @torch.no_grad()
    def _logprobs(self) -> Iterator[Tensor]:
        for batch in self.held:
            yield F.log_softmax(used_logits(self.model, batch), -1)

    def _perplexity(self, logprobs: list[Tensor]) -> float:
        truths = [batch.ids[:, 1:][batch.weights > 0] for batch in self.held]
        chosen = [of.gather(-1, ids[:, None]) for of, ids in zip(logprobs, truths, strict=True)]
        return math.exp(-float(torch.cat(chosen).mean()))


# Kinds of tensors, by their names.
KINDS = {
    "linear attention: queries, keys, values": r"linear_attn\.in_proj_qkv\.weight",
    "linear attention: output gate": r"linear_attn\.in_proj_z\.weight",
    "linear attention: gates of the state": r"linear_attn\.in_proj_[ab]\.weight",
    "linear attention: convolution": r"linear_attn\.conv1d\.weight",
    "linear attention: decay": r"linear_attn\.(A_log|dt_bias)",
    "linear attention: output": r"linear_attn\.out_proj\.weight",
    "full attention: queries, keys, values": r"self_attn\.[qkv]_proj\.weight",
    "full attention: output": r"self_attn\.o_proj\.weight",
    "MLP: gate, up": r"mlp\.(gate|up)_proj\.weight",
    "MLP: down": r"mlp\.down_proj\.weight",
    "embedding and LM head": r"embed_tokens\.weight",
}

Rounding = Callable[[Tensor], Tensor]


def in_bfloat16(values: Tensor) -> Tensor:
    return values.bfloat16().float()


GRIDS: dict[str, Rounding] = {"int4": int4_blocks, "int8": int8_rows, "bfloat16": in_bfloat16}


@contextmanager
def rounded(model: nn.Module, pattern: str, grid: Rounding) -> Iterator[None]:
    """The model with the tensors of a name on a grid."""
    before: list[tuple[Tensor, Tensor]] = []
    for name, parameter in model.named_parameters():
        if re.search(pattern, name):
            data = parameter.data
            before.append((data, data.clone()))
            # A convolution's weights of a channel are a row.
            data.copy_(grid(data.flatten(1) if data.dim() > 2 else data).view_as(data))
    if not before:
        raise SystemExit(f"there is no tensor like {pattern}")
    try:
        yield
    finally:
        for data, values in before:
            data.copy_(values)


@contextmanager
def activations_in_8_bits(model: nn.Module) -> Iterator[None]:
    hooks = [
        module.register_forward_pre_hook(lambda _module, inputs: (int8_blocks(inputs[0]),))
        for module in model.modules()
        if isinstance(module, nn.Linear)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def errors(args: argparse.Namespace) -> list[dict]:
    """Costs of each kind of tensors by itself on each grid, then of all together."""
    model = AutoModelForCausalLM.from_pretrained(args.folder, dtype=torch.float32).eval()
    measure = Measure(model, held_out(tokenizers.load(args.folder)))
    rows = [{"what": "fp32", "perplexity": round(measure.perplexity, 4), "nats": 0.0, "same": 1.0}]
    for kind, pattern in KINDS.items():
        for name, grid in GRIDS.items():
            with rounded(model, pattern, grid):
                rows.append({"what": f"{kind}, {name}", **measure.now()})
    with activations_in_8_bits(model):
        rows.append({"what": "activations in int8", **measure.now()})
    matrices = r"(in_proj_(qkv|z)|out_proj|[qkvo]_proj|(gate|up|down)_proj)\.weight"
    gates = KINDS["linear attention: gates of the state"]
    for weights in ("int4", "int8"):
        for of_gates in ("int4", "int8", "bfloat16"):
            with rounded(model, matrices, GRIDS[weights]), rounded(model, gates, GRIDS[of_gates]):
                rows.append({"what": f"all matrices of layers {weights}, gates {of_gates}", **measure.now()})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a small hybrid, or measures its rounding errors.")
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("output", type=Path, help="model folder to write")
    training.add_argument("--teacher", type=Path, required=True, help="model folder; its tokenizer is taken")
    training.add_argument("--steps", type=int, default=2000)
    training.add_argument("--tokens", type=int, default=2048, help="in a step, padding included")
    training.add_argument("--learning-rate", type=float, default=2e-3)
    training.add_argument("--seed", type=int, default=1)
    measuring = commands.add_parser("errors")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.set_flush_denormal(True)
    if args.command == "train":
        print(json.dumps(train(args)))
        return
    rows = errors(args)
    if args.json:
        print(json.dumps(rows, indent=2))
        return
    print("| Rounded | perplexity | nats | same next token |\n| --- | ---: | ---: | ---: |")
    for row in rows:
        print(f"| {row['what']} | {row['perplexity']:.3f} | {row['nats']:.5f} | {100 * row['same']:.1f}% |")


if __name__ == "__main__":
    main()
