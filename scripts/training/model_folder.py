"""Model folders in the Hugging Face format: weights, config and tokenizer."""

import json
from pathlib import Path

import numpy as np
import torch

import tokenizer as tokenizers
from model import CONFIGS, MAX_POSITIONS, NORM_EPSILON, ROPE_THETA, Config, Llama
from tensor_file import read_safetensors, write_safetensors
from tokenizer import ADDED_TOKENS, BOS, EOS_ID, PAD

BOS_ID = ADDED_TOKENS.index(BOS)
PAD_ID = ADDED_TOKENS.index(PAD)
NAME_PREFIX = "model."


def write_model(folder: Path, name: str, weights: dict[str, torch.Tensor]) -> None:
    """Writes weights (as float16), config.json and generation_config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        NAME_PREFIX + key: tensor.detach().numpy().astype(np.float16)
        for key, tensor in weights.items()
    }
    write_safetensors(folder / "model.safetensors", tensors)
    config = CONFIGS[name]
    config_json = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": config.vocabulary_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": MAX_POSITIONS,
        "rms_norm_eps": NORM_EPSILON,
        "rope_theta": ROPE_THETA,
        "rope_scaling": None,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "initializer_range": 0.02,
        "pretraining_tp": 1,
        "use_cache": True,
        "torch_dtype": "float16",
        "bos_token_id": BOS_ID,
        "eos_token_id": EOS_ID,
        "pad_token_id": PAD_ID,
    }
    generation_config = {
        "bos_token_id": BOS_ID,
        "eos_token_id": [EOS_ID, PAD_ID],
        "pad_token_id": PAD_ID,
        "do_sample": True,
        "temperature": 0.6,
        "top_p": 0.9,
    }
    tokenizers.write_json(folder / "config.json", config_json)
    tokenizers.write_json(folder / "generation_config.json", generation_config)


def load_model(folder: Path) -> Llama:
    """The model of a folder that `write_model` wrote; its float16 weights compute in float32."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = Llama(
        Config(
            hidden_size=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            kv_heads=config["num_key_value_heads"],
            head_dim=config["head_dim"],
            intermediate_size=config["intermediate_size"],
            vocabulary_size=config["vocab_size"],
        )
    )
    tensors = read_safetensors(folder / "model.safetensors")
    model.load_state_dict({
        name: torch.from_numpy(tensors[NAME_PREFIX + name].astype(np.float32))
        for name in model.state_dict()
    })
    return model.eval()
