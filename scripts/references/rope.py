"""Rotary frequencies as Transformers computes them, for the rope scalings of published models.

    python3 rope.py test/fixtures/rope.json

Each entry has a configuration, the longest text it is for, the frequency of each pair of dimensions,
and the factor that queries and keys are multiplied by as they turn.
"""

import argparse
import json
from pathlib import Path

from transformers import LlamaConfig, PreTrainedConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

SHAPE = {"hidden_size": 1024, "num_attention_heads": 8, "head_dim": 128}


def config(theta: float, max_position_embeddings: int, **rope) -> PreTrainedConfig:
    parameters = {"rope_theta": theta, **rope}
    return LlamaConfig(
        **SHAPE, max_position_embeddings=max_position_embeddings, rope_parameters=parameters
    )


def longrope(max_position_embeddings: int) -> PreTrainedConfig:
    return config(
        10_000.0,
        max_position_embeddings,
        rope_type="longrope",
        original_max_position_embeddings=4096,
        partial_rotary_factor=0.75,
        short_factor=[1 + i / 64 for i in range(48)],
        long_factor=[1 + i * i / 16 for i in range(48)],
    )


LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}

# The configuration, and the longest text.
CASES = {
    "Llama 3.2": (config(500_000.0, 131_072, rope_type="llama3", factor=32.0, **LLAMA3), 131_072),
    "Llama 4 Scout": (
        config(
            500_000.0,
            131_072,
            rope_type="llama3",
            factor=16.0,
            **{**LLAMA3, "high_freq_factor": 1.0},
        ),
        131_072,
    ),
    "Gemma 3": (config(1_000_000.0, 131_072, rope_type="linear", factor=8.0), 131_072),
    "Qwen3, four times as far": (
        config(
            1_000_000.0,
            131_072,
            rope_type="yarn",
            factor=4.0,
            original_max_position_embeddings=32_768,
        ),
        131_072,
    ),
    "gpt-oss": (
        config(
            150_000.0,
            131_072,
            rope_type="yarn",
            factor=32.0,
            beta_fast=32.0,
            beta_slow=1.0,
            truncate=False,
            original_max_position_embeddings=4096,
        ),
        131_072,
    ),
    "DeepSeek V2": (
        config(
            10_000.0,
            163_840,
            rope_type="yarn",
            factor=40.0,
            mscale=0.707,
            mscale_all_dim=1.0,
            original_max_position_embeddings=4096,
        ),
        163_840,
    ),
    "Olmo 3": (
        config(
            500_000.0,
            65_536,
            rope_type="yarn",
            factor=8.0,
            attention_factor=1.2079441541679836,
            original_max_position_embeddings=8192,
        ),
        65_536,
    ),
    "Phi-4-mini, short texts": (longrope(131_072), 4096),
    "Phi-4-mini, long texts": (longrope(131_072), 131_072),
}


def entry(name: str, config: PreTrainedConfig, max_model_len: int) -> dict:
    rope = config.rope_parameters
    compute = ROPE_INIT_FUNCTIONS[rope["rope_type"]]
    frequencies, attention_factor = compute(config, "cpu", seq_len=max_model_len)
    return {
        "name": name,
        "config": {
            "max_position_embeddings": config.max_position_embeddings,
            "rope_parameters": rope,
        },
        "max_model_len": max_model_len,
        "frequencies": [float(f"{frequency:.7g}") for frequency in frequencies.tolist()],
        "attention_factor": attention_factor,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes rotary frequencies.")
    parser.add_argument("output", type=Path, help="file to write")
    args = parser.parse_args()
    lines = [json.dumps(entry(name, *case)) for name, case in CASES.items()]
    args.output.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
