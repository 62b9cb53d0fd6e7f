"""LoRA: products of two small matrices that are added to what a model's linear layers give.

Stored as PEFT stores them, so that it and others can read them.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import tokenizer as tokenizers
from model import Llama
from tensor_file import read_safetensors, write_safetensors

MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
NAME_PREFIX = "base_model.model.model."
CONFIG_FILE, WEIGHTS_FILE = "adapter_config.json", "adapter_model.safetensors"


class LoraLinear(nn.Module):
    """A linear layer that stays as it is, and B A beside it, times alpha / rank; B is 0 at first."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base = base
        self.scaling = alpha / rank
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + F.linear(F.linear(x, self.lora_A), self.lora_B) * self.scaling


def add_lora(model: Llama, rank: int, alpha: float) -> list[nn.Parameter]:
    """Adds it to all linear layers; nothing else is trained any more. Returns what is."""
    model.requires_grad_(False)
    for layer in model.layers:
        for block in (layer.self_attn, layer.mlp):
            for name, linear in list(block.named_children()):
                setattr(block, name, LoraLinear(linear, rank, alpha))
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def write_adapter(folder: Path, model: Llama, base: str, rank: int, alpha: float) -> None:
    """Writes the matrices (as float16) and PEFT's configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        f"{NAME_PREFIX}{name}.weight": parameter.detach().numpy().astype(np.float16)
        for name, parameter in _matrices(model)
    }
    write_safetensors(folder / WEIGHTS_FILE, tensors)
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": rank,
        "lora_alpha": alpha,
        "lora_dropout": 0.0,
        "target_modules": list(MODULES),
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "use_rslora": False,
        "use_dora": False,
        "modules_to_save": None,
    }
    tokenizers.write_json(folder / CONFIG_FILE, config)


def load_adapter(folder: Path, model: Llama) -> Llama:
    """Adds a stored adapter to a model, which computes with it in float32."""
    config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
    add_lora(model, config["r"], config["lora_alpha"])
    tensors = read_safetensors(folder / WEIGHTS_FILE)
    with torch.no_grad():
        for name, parameter in _matrices(model):
            stored = tensors[f"{NAME_PREFIX}{name}.weight"].astype(np.float32)
            parameter.copy_(torch.from_numpy(stored))
    return model.eval()


def _matrices(model: Llama) -> Iterator[tuple[str, nn.Parameter]]:
    return ((name, each) for name, each in model.named_parameters() if ".lora_" in name)
