"""Tiny checkpoints with a module that predicts the token after the next one, and what it predicts.

    python3 predictions.py test/fixtures/predictions           writes every case
    python3 predictions.py test/fixtures/predictions mimo      writes the named ones

Transformers leaves these modules out. Their layer is a last layer of the model here, which is named as checkpoints
have it; what is around it is written as vLLM computes it. Modules are trained a little on texts of their models, so
that some of what they predict comes true.

A case is config.json, model.safetensors in bfloat16, and reference.json: a prompt with its greedy continuation, and
by the number of its tokens that are known the logits of the first prediction, and the tokens of several.
"""

import argparse
import copy
import json
import re
from pathlib import Path

import torch
import transformers
from families import (
    DELTA,
    LATENT,
    LATENT_EXPERTS,
    MAX_LENGTH,
    MIN_LEAD,
    SHAPE,
    VOCABULARY_SIZE,
    continue_greedily,
    randomize,
    rename,
)
from safetensors.torch import load_file, save_file
from torch import nn

NUM_PREDICTED = 3
PROMPT = 24
# Texts that modules are trained on, and steps of it.
TEXTS, LENGTH, STEPS = 256, 40, 200

EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 8}
DELTA_LAYERS = {
    **SHAPE,
    **DELTA,
    "num_hidden_layers": 3,
    "layer_types": ["linear_attention", "full_attention", "full_attention"],
}


def next_token(width: int, eps: float, adds_one: bool) -> dict:
    """Parts of a module around its layer."""
    norm = transformers.models.qwen3_next.modeling_qwen3_next.Qwen3NextRMSNorm if adds_one else nn.RMSNorm
    return {
        "embedding": norm(width, eps=eps),
        "hidden": norm(width, eps=eps),
        "joined": nn.Linear(2 * width, width, bias=False),
        "last": norm(width, eps=eps),
    }


class Form:
    """How checkpoints name a module, and what differs in what it computes."""

    def __init__(self, names, layer, adds_one=False, hidden_first=False, masks_first=True, passes_sum=False):
        self.names = dict(zip(["embedding", "hidden", "joined", "last"], names, strict=True))
        self.layer = layer
        self.adds_one = adds_one
        self.hidden_first = hidden_first
        self.masks_first = masks_first
        self.passes_sum = passes_sum


def nextn(layer: int) -> Form:
    prefix = f"model.layers.{layer}"
    names = [f"{prefix}.{name}" for name in ["enorm", "hnorm", "eh_proj", "shared_head.norm"]]
    return Form(names, prefix, passes_sum=True)


QWEN = Form(
    ["mtp.pre_fc_norm_embedding", "mtp.pre_fc_norm_hidden", "mtp.fc", "mtp.norm"],
    "mtp.layers.0",
    adds_one=True,
    masks_first=False,
)
MIMO = Form(
    [f"model.mtp_layers.0.{name}" for name in ["token_layernorm", "hidden_layernorm", "input_proj", "final_layernorm"]],
    "model.mtp_layers.0",
    hidden_first=True,
)

CASES = {
    "glm4-moe": (
        nextn(2),
        lambda: transformers.Glm4MoeForCausalLM(
            transformers.Glm4MoeConfig(
                **{**SHAPE, "num_hidden_layers": 3},
                **EXPERTS,
                head_dim=16,
                partial_rotary_factor=0.5,
                n_routed_experts=4,
                routed_scaling_factor=1.5,
                use_qk_norm=True,
            )
        ),
        {"num_nextn_predict_layers": 1},
    ),
    "deepseek-v3": (
        nextn(2),
        lambda: transformers.DeepseekV3ForCausalLM(
            transformers.DeepseekV3Config(
                **{**LATENT, **LATENT_EXPERTS, "num_hidden_layers": 3}, rms_norm_eps=0.01
            )
        ),
        {"num_nextn_predict_layers": 1},
    ),
    "qwen3-next": (
        QWEN,
        lambda: transformers.Qwen3NextForCausalLM(
            transformers.Qwen3NextConfig(
                **DELTA_LAYERS, **EXPERTS, num_experts=4, shared_expert_intermediate_size=24
            )
        ),
        {},
    ),
    "qwen3.5": (
        QWEN,
        lambda: transformers.Qwen3_5ForCausalLM(transformers.Qwen3_5TextConfig(**DELTA_LAYERS)),
        {"mtp_num_hidden_layers": 1},
    ),
    "qwen3.5-moe": (
        QWEN,
        lambda: transformers.Qwen3_5MoeForCausalLM(
            transformers.Qwen3_5MoeTextConfig(
                **DELTA_LAYERS, **EXPERTS, num_experts=4, shared_expert_intermediate_size=24
            )
        ),
        {"mtp_num_hidden_layers": 1},
    ),
    "mimo": (
        MIMO,
        lambda: transformers.Qwen2ForCausalLM(
            transformers.Qwen2Config(**{**SHAPE, "num_hidden_layers": 3})
        ),
        {
            "model_type": "mimo",
            "architectures": ["MiMoForCausalLM"],
            "num_nextn_predict_layers": 1,
            "attention_bias": True,
        },
    ),
}


class Predictor(nn.Module):
    """A model without its last layer, and that layer as part of a module."""

    def __init__(self, model, form: Form):
        super().__init__()
        self.form = form
        self.model = model
        config = model.config
        self.parts = nn.ModuleDict(next_token(config.hidden_size, config.rms_norm_eps, form.adds_one))
        layers = list(model.model.layers)
        block = copy.copy(model.model)
        block._modules = dict(model.model._modules)
        block.layers = nn.ModuleList(layers[-1:])
        block.norm = nn.Identity()
        block.config = self.config_of(config, slice(-1, None))
        self.block = block
        model.model.layers = nn.ModuleList(layers[:-1])
        model.model.config = self.config_of(config, slice(0, -1))

    @staticmethod
    def config_of(config, layers: slice):
        part = copy.deepcopy(config)
        numbers = list(range(config.num_hidden_layers))[layers]
        part.num_hidden_layers = len(numbers)
        if getattr(config, "layer_types", None):
            part.layer_types = config.layer_types[layers]
        return part

    def hidden(self, ids):
        """[texts, tokens, hidden], after the last norm."""
        return self.model.model(input_ids=ids, use_cache=False).last_hidden_state

    def predict(self, hidden, next_ids):
        """Logits at each position, and the hidden states that the next prediction takes."""
        parts, form = self.parts, self.form
        embedded = self.model.model.embed_tokens(next_ids)
        if form.masks_first:
            embedded = torch.cat([torch.zeros_like(embedded[:, :1]), embedded[:, 1:]], dim=1)
        both = [parts["embedding"](embedded), parts["hidden"](hidden)]
        joined = parts["joined"](torch.cat(both[::-1] if form.hidden_first else both, dim=-1))
        summed = self.block(inputs_embeds=joined, use_cache=False).last_hidden_state
        normalized = parts["last"](summed)
        return self.model.lm_head(normalized), summed if form.passes_sum else normalized


def train(predictor: Predictor) -> None:
    model = predictor.model
    generator = torch.Generator().manual_seed(1)
    texts = torch.randint(3, VOCABULARY_SIZE, (TEXTS, 4), generator=generator)
    with torch.no_grad():
        while texts.shape[1] < LENGTH:
            token = model.lm_head(predictor.hidden(texts))[:, -1].argmax(-1, keepdim=True)
            texts = torch.cat([texts, token], dim=1)
        hidden = predictor.hidden(texts)[:, :-2]
    own = [*predictor.parts.parameters(), *predictor.block.layers.parameters()]
    for parameter in predictor.parameters():
        parameter.requires_grad_(any(parameter is each for each in own))
    optimizer = torch.optim.Adam(own, lr=0.01)
    for _ in range(STEPS):
        logits, _ = predictor.predict(hidden, texts[:, 1:-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), texts[:, 2:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"  loss {loss.item():.3f}")


def predictions(predictor: Predictor, text: list[int]) -> dict | None:
    """Logits of the first prediction after a text, and tokens; None if one leads by too little."""
    ids = torch.tensor([text])
    hidden = predictor.hidden(ids)[:, :-1]
    tokens, first = list(text), None
    for _ in range(NUM_PREDICTED):
        logits, states = predictor.predict(hidden, torch.tensor([tokens[1:]]))
        last = logits[0, -1]
        first = last if first is None else first
        (best, second), (token, _) = last.topk(2)
        if best - second < MIN_LEAD:
            return None
        tokens.append(int(token))
        hidden = torch.cat([hidden, states[:, -1:]], dim=1)
    return {
        "tokens": tokens[len(text) :],
        "logits": [float(f"{value:.6g}") for value in first.tolist()],
    }


def save(folder: Path, predictor: Predictor, form: Form, fields: dict) -> None:
    """Writes the model with all of its layers, then gives the last one its names."""
    model = predictor.model
    model.model.layers = nn.ModuleList([*model.model.layers, *predictor.block.layers])
    model.model.config = model.config
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    path = folder / "model.safetensors"
    last = model.config.num_hidden_layers - 1
    tensors = {
        re.sub(rf"^model\.layers\.{last}\.", f"{form.layer}.", name): tensor
        for name, tensor in load_file(path).items()
    }
    for part, name in form.names.items():
        tensors[f"{name}.weight"] = predictor.parts[part].weight.detach().to(torch.bfloat16).clone()
    if form.passes_sum:
        # Copies, as they are published.
        tensors[f"{form.layer}.embed_tokens.weight"] = tensors["model.embed_tokens.weight"].clone()
        tensors[f"{form.layer}.shared_head.head.weight"] = tensors["lm_head.weight"].clone()
    save_file(tensors, path, {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    types = {"layer_types": config["layer_types"][:-1]} if "layer_types" in config else {}
    rename(folder, {"num_hidden_layers": last, **types, **fields})


def write_case(folder: Path, form: Form, build, fields: dict) -> None:
    print(folder.name)
    model = build()
    model.set_attn_implementation("eager")
    model.eval()
    randomize(model, 1)
    predictor = Predictor(model, form)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for part in predictor.parts.parameters():
            noise = torch.randn(part.shape, generator=generator)
            part.copy_(noise * part.shape[1] ** -0.5) if part.dim() == 2 else part.add_(noise * 0.3)
    train(predictor)
    # As they are stored.
    with torch.no_grad():
        for parameter in predictor.parameters():
            parameter.copy_(parameter.to(torch.bfloat16).float())
    cases = {}
    with torch.no_grad():
        while not cases:
            ids = torch.randint(3, VOCABULARY_SIZE, (PROMPT,), generator=generator).tolist()
            text = continue_greedily(model, ids)
            lengths = [2, 5, PROMPT, PROMPT + 3] if text else []
            found = {str(length): predictions(predictor, text[:length]) for length in lengths}
            cases = found if all(found.values()) else {}
    reference = {"max_model_len": MAX_LENGTH, "ids": ids, "greedy": text[len(ids) :], "predictions": cases}
    folder.mkdir(parents=True, exist_ok=True)
    save(folder, predictor, form, fields)
    (folder / "reference.json").write_text(json.dumps(reference) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes test cases of modules that predict.")
    parser.add_argument("output", type=Path, help="folder of the cases' folders")
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(CASES)}")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name in args.cases or CASES:
        write_case(args.output / name, *CASES[name])


if __name__ == "__main__":
    main()
