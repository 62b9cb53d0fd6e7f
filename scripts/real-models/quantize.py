"""A real model's weights as the quantized checkpoints that people have, each a Hugging Face folder.

Usage: python3 scripts/real-models/quantize.py model.gguf folder [kind...]
Needs: pip install torch transformers gguf

Weights are rounded to the nearest, without calibration: what is measured is the format, not the art of
those who quantize with care. The formats are those of scripts/references/quantized.py.
"""

import argparse
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.append(str(Path(__file__).parent.parent / "references"))
from quantized import grid, pack_words  # noqa: E402

# Divides the rows of the models' matrices.
GROUP = 64
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
SCALES = torch.float16


def gptq(weight: torch.Tensor, bits: int = 4) -> dict[str, torch.Tensor]:
    integers, scale, zero = grid(weight, bits, GROUP, True)
    return {
        "qweight": pack_words(integers.T.contiguous(), bits, 0),
        "qzeros": pack_words((zero - 1).T.contiguous(), bits, 1),
        "scales": scale.T.contiguous(),
        "g_idx": torch.arange(weight.shape[1], dtype=torch.int32) // GROUP,
    }


def awq(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    integers, scale, zero = grid(weight, 4, GROUP, False)
    return {
        "qweight": pack_words(integers.T.contiguous(), 4, 1, AWQ_ORDER),
        "qzeros": pack_words(zero.T.contiguous(), 4, 1, AWQ_ORDER),
        "scales": scale.T.contiguous(),
    }


def w4a16(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    integers, scale, _ = grid(weight, 4, GROUP, True)
    return {
        "weight_packed": pack_words(integers, 4, 1),
        "weight_scale": scale,
        "weight_shape": torch.tensor(weight.shape),
    }


def w8a8(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    scale = (weight.abs().amax(1, keepdim=True) / 127).float()
    return {"weight": (weight / scale).round().to(torch.int8), "weight_scale": scale}


def fp8(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    rows, columns = (-(-size // 128) for size in weight.shape)
    padded = torch.zeros(rows * 128, columns * 128)
    padded[: weight.shape[0], : weight.shape[1]] = weight
    scale = padded.reshape(rows, 128, columns, 128).abs().amax((1, 3)).clamp(min=1e-12) / 448
    spread = scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
    spread = spread[: weight.shape[0], : weight.shape[1]]
    return {"weight": (weight / spread).to(torch.float8_e4m3fn), "weight_scale_inv": scale}


INT = {"type": "int", "symmetric": True}


def compressed(name: str, weights: dict) -> dict:
    groups = {"group_0": {"targets": ["Linear"], "weights": {**INT, **weights}}}
    return {"quant_method": "compressed-tensors", "format": name, "config_groups": groups,
            "ignore": ["lm_head"]}


KINDS = {
    "gptq-4": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": GROUP, "sym": True,
                      "desc_act": False, "checkpoint_format": "gptq"}),
    "gptq-8": (lambda weight: gptq(weight, 8), {
        "quant_method": "gptq", "bits": 8, "group_size": GROUP, "sym": True, "desc_act": False,
        "checkpoint_format": "gptq"}),
    "awq": (awq, {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True,
                  "version": "gemm"}),
    "w4a16": (w4a16, compressed("pack-quantized", {
        "num_bits": 4, "strategy": "group", "group_size": GROUP})),
    "w8a8": (w8a8, compressed("int-quantized", {"num_bits": 8, "strategy": "channel"})),
    "fp8": (fp8, {"quant_method": "fp8", "weight_block_size": [128, 128],
                  "activation_scheme": "dynamic"}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes a model's weights as quantized folders.")
    parser.add_argument("gguf", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("kinds", nargs="*", help=f"of bf16, {', '.join(KINDS)}")
    args = parser.parse_args()
    torch.set_num_threads(1)
    folder, name = str(args.gguf.parent), args.gguf.name
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    state = {key: value for key, value in model.state_dict().items() if key != "lm_head.weight"}
    for kind in args.kinds or ["bf16", *KINDS]:
        quantize, quantization = KINDS.get(kind, (None, None))
        tensors = {}
        for key, value in state.items():
            is_linear = value.dim() == 2 and "embed_tokens" not in key
            if is_linear and quantize is not None:
                for part, tensor in quantize(value).items():
                    tensors[f"{key.removesuffix('weight')}{part}"] = tensor.contiguous()
            else:
                tensors[key] = value.to(torch.bfloat16 if quantize is None else SCALES).contiguous()
        target = args.output / kind
        target.mkdir(parents=True, exist_ok=True)
        save_file(tensors, target / "model.safetensors", {"format": "pt"})
        model.config.save_pretrained(target)
        tokenizer.save_pretrained(target)
        path = target / "config.json"
        config = json.loads(path.read_text())
        config.pop("quantization_config", None)
        if quantization is not None:
            config["quantization_config"] = quantization
        path.write_text(json.dumps(config, indent=2) + "\n")
        print(target)


if __name__ == "__main__":
    main()
