"""Small matrices in NVFP4 and in MLX's formats with their values, and tiny models that MLX quantized with their logits.

Usage: python3 scripts/references/mlx_and_nvfp4.py test/fixtures
Needs: pip install torch safetensors compressed-tensors nvidia-modelopt "mlx[cpu]" mlx-lm
  (written with 2.13, 0.8, 0.20, 0.47, 0.32 and 0.32)
"""

import argparse
import json
import tempfile
from pathlib import Path

import mlx.core as mx
import numpy as np
import torch
from safetensors.torch import save_file

ROWS, COLUMNS = 8, 128
IDS = [3, 33, 28, 34, 3, 60, 7, 12, 45]


def weights(seed: int) -> torch.Tensor:
    return torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(seed)) * 0.1


def compressed(seed: int):
    """By the package compressed-tensors."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from compressed_tensors.quantization.lifecycle.forward import dequantize
    from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam

    weight = weights(seed)
    args = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}
    arguments = QuantizationArgs(**args, scale_dtype=torch.float8_e4m3fn)
    parts = weight.reshape(ROWS, -1, 16)
    own = generate_gparam(weight.amin().reshape(1), weight.amax().reshape(1))
    scale, _ = calculate_qparams(parts.amin(-1), parts.amax(-1), arguments, own)
    scheme = QuantizationScheme(targets=["Linear"], weights=arguments)
    compressor = BaseCompressor.get_value_from_registry("nvfp4-pack-quantized")
    state = {"weight": weight, "weight_scale": scale, "weight_global_scale": own}
    tensors = compressor.compress(state, scheme)
    stored = {key: tensors[key].clone() for key in tensors}
    # What `decompress` does, which rounds to bfloat16, in float32.
    unpacked = unpack_fp4_from_uint8(stored["weight_packed"], ROWS, COLUMNS, torch.float32)
    values = dequantize(unpacked, stored["weight_scale"].float(), args=arguments, global_scale=own,
                        dtype=torch.float32)
    rounded = compressor.decompress(dict(tensors), scheme)["weight"].float()
    assert (values - rounded).abs().max() <= 2**-7 * values.abs().max()
    config = {
        "quant_method": "compressed-tensors",
        "format": "nvfp4-pack-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": args}},
    }
    return config, stored, values


def modelopt(seed: int):
    """By the package nvidia-modelopt."""
    from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor

    packed, scale, own = NVFP4QTensor.quantize(weights(seed), 16)
    values = packed.dequantize(
        torch.float32, scale=scale, double_scale=own, block_sizes={-1: 16}
    )
    tensors = {
        "weight": packed._quantized_data,
        "weight_scale": scale,
        "weight_scale_2": own,
        "input_scale": torch.tensor(0.01),
    }
    return {"quant_method": "modelopt", "quant_algo": "NVFP4"}, tensors, values


def mlx(mode: str, bits: int, group: int, seed: int):
    """By MLX: scales of `affine` in bfloat16, as in models."""
    weight = mx.array(weights(seed).numpy())
    form = {"group_size": group, "bits": bits, "mode": mode}
    packed, *scales = mx.quantize(weight, **form)
    if mode == "affine":
        scales = [each.astype(mx.bfloat16) for each in scales]
        values = mx.dequantize(packed, *(each.astype(mx.float32) for each in scales), **form)
    else:
        values = mx.dequantize(packed, *scales, dtype=mx.float32, **form)
    as_torch = lambda each: (
        torch.from_numpy(np.array(each.astype(mx.float32))).bfloat16()
        if each.dtype == mx.bfloat16
        else torch.from_numpy(np.array(each))
    )
    names = ["weight", "scales", "biases"]
    tensors = {name: as_torch(each) for name, each in zip(names, [packed, *scales])}
    return form, tensors, torch.from_numpy(np.array(values))


MATRICES = {
    "nvfp4-compressed": lambda: compressed(1),
    "nvfp4-modelopt": lambda: modelopt(2),
    **{
        f"mlx-{bits}-{group}": (lambda b, g: lambda: mlx("affine", b, g, b))(bits, group)
        for bits, group in [(2, 64), (3, 32), (4, 64), (5, 128), (6, 64), (8, 32)]
    },
    "mlx-mxfp4": lambda: mlx("mxfp4", 4, 32, 9),
    "mlx-nvfp4": lambda: mlx("nvfp4", 4, 16, 10),
    "mlx-mxfp8": lambda: mlx("mxfp8", 8, 32, 11),
}

SIZE = {
    "vocab_size": 64, "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
    "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": False,
}
EXPERTS = {
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "norm_topk_prob": True,
    "decoder_sparse_step": 1, "mlp_only_layers": [],
}
LINEAR = {
    "linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 16,
    "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4, "full_attention_interval": 2,
    "partial_rotary_factor": 0.5, "shared_expert_intermediate_size": 32, "rope_scaling": None,
}


def no_few(path: str, module) -> bool:
    """Rows that are no multiple of a group stay as they are."""
    return module.weight.shape[-1] % 32 == 0


def mixed(path: str, module):
    """As MLX's recipes: some in more bits, one not at all."""
    if path.endswith("k_proj"):
        return {"group_size": 32, "bits": 6}
    if path == "lm_head":
        return {"group_size": 64, "bits": 8}
    return not path.endswith("o_proj")


# Class of Transformers, configuration, how MLX is to quantize it.
MODELS = {
    "llama": ("Llama", {}, (64, 4, "affine", mixed)),
    "qwen3": ("Qwen3", {"tie_word_embeddings": True}, (32, 4, "mxfp4", no_few)),
    "qwen3-moe": ("Qwen3Moe", EXPERTS, (32, 4, "affine", no_few)),
    "qwen3-next": (
        "Qwen3Next", {**EXPERTS, **LINEAR, "num_hidden_layers": 2}, (32, 8, "affine", no_few)),
}


def model(name: str, folder: Path) -> None:
    import transformers
    from mlx_lm.utils import load_model, quantize_model, save_config, save_model

    kind, fields, (group, bits, mode, predicate) = MODELS[name]
    config = getattr(transformers, f"{kind}Config")(**{**SIZE, **fields})
    torch.manual_seed(len(name))
    original = getattr(transformers, f"{kind}ForCausalLM")(config).to(torch.bfloat16)
    for parameter in original.parameters():
        torch.nn.init.normal_(parameter.data, mean=0.0 if parameter.dim() > 1 else 1.0, std=0.15)
    with tempfile.TemporaryDirectory() as stored:
        original.save_pretrained(stored)
        path = Path(stored) / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **SIZE, **fields}))
        loaded, config = load_model(Path(stored))
    loaded, config = quantize_model(loaded, config, group, bits, mode, quant_predicate=predicate)
    save_model(folder, loaded)
    save_config(config, folder / "config.json")
    (folder / "model.safetensors.index.json").unlink()
    loaded, _ = load_model(folder)
    loaded.set_dtype(mx.float32)
    logits = np.array(loaded(mx.array([IDS])))[0, -1]
    text = json.dumps({"ids": IDS, "logits": [round(float(each), 5) for each in logits]})
    (folder / "reference.json").write_text(text + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes matrices and models.")
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    matrices = args.output / "small-matrices"
    matrices.mkdir(parents=True, exist_ok=True)
    for name, make in MATRICES.items():
        config, tensors, values = make()
        stored = {f"layer.{key}": value.contiguous() for key, value in tensors.items()}
        stored["expected"] = values.contiguous().float()
        save_file(stored, matrices / f"{name}.safetensors", {"config": json.dumps(config)})
    for name in MODELS:
        folder = args.output / "mlx" / name
        folder.mkdir(parents=True, exist_ok=True)
        model(name, folder)


if __name__ == "__main__":
    main()
