"""Small quantized matrices as checkpoints have them, and their values by the libraries that made them.

Usage: python3 scripts/references/quantized.py test/fixtures/quantized
Needs: pip install torch compressed-tensors bitsandbytes safetensors (written with 2.15, 0.20, 0.50 and 0.8)
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file

ROWS, COLUMNS = 48, 256
GROUP = 32


def weights(seed: int, rows: int = ROWS, columns: int = COLUMNS) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)) * 0.1


def grid(weight: torch.Tensor, bits: int, group: int, symmetric: bool):
    """Integers from 0 on, scales in float16 and zero points of groups of columns."""
    groups = weight.reshape(weight.shape[0], -1, group)
    top = 2**bits - 1
    if symmetric:
        scale = groups.abs().amax(-1) * 2 / top
        zero = torch.full_like(scale, 2 ** (bits - 1))
    else:
        low, high = groups.amin(-1).clamp(max=0), groups.amax(-1).clamp(min=0)
        scale = (high - low) / top
        zero = (-low / scale).round()
    scale = scale.half()
    integers = (groups / scale.float()[..., None]).round() + zero[..., None]
    return integers.clamp(0, top).reshape(weight.shape).int(), scale, zero.int()


def pack_words(integers: torch.Tensor, bits: int, dim: int, order=None) -> torch.Tensor:
    """Neighbours along a dimension in one int32, the first lowest, or by `order`."""
    per_word = 32 // bits
    parts = integers.movedim(dim, -1).unflatten(-1, (-1, per_word)).long()
    words = sum(parts[..., (order[i] if order else i)] << (bits * i) for i in range(per_word))
    words = torch.where(words >= 2**31, words - 2**32, words).int()
    return words.movedim(-1, dim).contiguous()


def gptq(bits: int, symmetric: bool, ordered: bool, version: int, seed: int):
    """As AutoGPTQ's QuantLinear packs it; unpacked by its formula, which Transformers takes over."""
    weight = weights(seed)
    order = torch.randperm(COLUMNS, generator=torch.Generator().manual_seed(seed))
    order = order if ordered else torch.arange(COLUMNS)
    integers, scale, zero = grid(weight[:, order], bits, GROUP, symmetric)
    groups = torch.empty(COLUMNS, dtype=torch.int32)
    groups[order] = torch.arange(COLUMNS, dtype=torch.int32) // GROUP
    in_place = torch.empty_like(integers)
    in_place[:, order] = integers
    stored_zero = (zero - (1 if version == 1 else 0)) % 2**bits
    tensors = {
        "qweight": pack_words(in_place.T.contiguous(), bits, 0),
        "qzeros": pack_words(stored_zero.T.contiguous(), bits, 1),
        "scales": scale.T.contiguous(),
        "g_idx": groups,
    }
    # dequantize_weight of GPTQModel's TorchQuantLinear, in float32.
    shifts = torch.arange(0, 32, bits)
    unpacked = (tensors["qweight"][:, None, :] >> shifts[None, :, None]) & (2**bits - 1)
    unpacked = unpacked.reshape(-1, ROWS)
    zeros = (tensors["qzeros"][:, :, None] >> shifts) & (2**bits - 1)
    zeros = (zeros.reshape(-1, ROWS) + (1 if version == 1 else 0)) & (2**bits - 1)
    index = groups.long()
    values = tensors["scales"].float()[index] * (unpacked - zeros[index])
    config = {
        "quant_method": "gptq", "bits": bits, "group_size": GROUP, "sym": symmetric,
        "desc_act": ordered, "checkpoint_format": "gptq" if version == 1 else "gptq_v2",
    }
    return config, tensors, values.T


def awq(seed: int):
    """As AutoAWQ's WQLinear_GEMM packs it."""
    integers, scale, zero = grid(weights(seed), 4, GROUP, False)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    tensors = {
        "qweight": pack_words(integers.T.contiguous(), 4, 1, order),
        "qzeros": pack_words(zero.T.contiguous(), 4, 1, order),
        "scales": scale.T.contiguous(),
    }
    # AutoAWQ's utils/packing_utils.py: unpack_awq, reverse_awq_order, dequantize_gemm.
    shifts = torch.arange(0, 32, 4)
    reverse = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])

    def unpack(words: torch.Tensor) -> torch.Tensor:
        values = (words[:, :, None] >> shifts).reshape(words.shape[0], -1)
        places = torch.arange(values.shape[1]).reshape(-1, 8)[:, reverse].reshape(-1)
        return values[:, places] & 15

    repeat = lambda each: each.repeat_interleave(GROUP, 0)
    values = (unpack(tensors["qweight"]) - repeat(unpack(tensors["qzeros"]))) * repeat(
        tensors["scales"].float()
    )
    config = {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True,
              "version": "gemm"}
    return config, tensors, values.T


def compressed(format_name: str, args: dict, seed: int):
    """By the package compressed-tensors itself."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from compressed_tensors.quantization.utils import calculate_qparams

    weight = weights(seed)
    arguments = QuantizationArgs(**args)
    if arguments.strategy == "tensor":
        low, high = weight.amin(), weight.amax()
    else:
        parts = weight.reshape(ROWS, -1, arguments.group_size or COLUMNS)
        low, high = parts.amin(-1), parts.amax(-1)
    scale, zero = calculate_qparams(low, high, arguments)
    state = {"weight": weight, "weight_scale": scale.bfloat16().float()}
    if not arguments.symmetric:
        state["weight_zero_point"] = zero
    compressor = BaseCompressor.get_value_from_registry(format_name)
    scheme = QuantizationScheme(targets=["Linear"], weights=arguments)
    tensors = compressor.compress(state, scheme)
    values = compressor.decompress(dict(tensors), scheme)["weight"].float()
    return compressed_config(format_name, args), tensors, values


def compressed_config(format_name: str, args: dict) -> dict:
    groups = {"group_0": {"targets": ["Linear"], "weights": args}}
    return {"quant_method": "compressed-tensors", "format": format_name, "config_groups": groups}


def compressed_ordered(seed: int):
    """With `actorder: group`, which older releases wrote: integers by their unpacker, scales by g_idx."""
    from compressed_tensors.compressors.pack_quantized.helpers import unpack_from_int32

    order = torch.randperm(COLUMNS, generator=torch.Generator().manual_seed(seed))
    integers, scale, _ = grid(weights(seed)[:, order], 4, GROUP, True)
    in_place = torch.empty_like(integers)
    in_place[:, order] = integers
    groups = torch.empty(COLUMNS, dtype=torch.int32)
    groups[order] = torch.arange(COLUMNS, dtype=torch.int32) // GROUP
    tensors = {
        "weight_packed": pack_words(in_place, 4, 1),
        "weight_scale": scale,
        "weight_shape": torch.tensor([ROWS, COLUMNS]),
        "weight_g_idx": groups,
    }
    unpacked = unpack_from_int32(tensors["weight_packed"], 4, torch.Size([ROWS, COLUMNS]))
    values = unpacked.float() * scale.float()[:, groups.long()]
    args = {**INT4, "symmetric": True, "actorder": "group"}
    return compressed_config("pack-quantized", args), tensors, values


def fp8_blocks(seed: int):
    """As Transformers' FineGrainedFP8 stores and reads it."""
    weight = weights(seed)
    block = (16, 128)
    tiles = weight.reshape(ROWS // block[0], block[0], COLUMNS // block[1], block[1])
    scale = tiles.abs().amax((1, 3)) / 448
    stored = (tiles / scale[:, None, :, None]).reshape(weight.shape).to(torch.float8_e4m3fn)
    spread = scale.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)
    config = {"quant_method": "fp8", "weight_block_size": list(block), "activation_scheme": "dynamic"}
    return config, {"weight": stored, "weight_scale_inv": scale}, stored.float() * spread


def bitsandbytes(nested: bool, kind: str, seed: int):
    import bitsandbytes.functional as bnb

    weight = weights(seed)
    packed, state = bnb.quantize_4bit(
        weight, blocksize=64, compress_statistics=nested, quant_type=kind
    )
    values = bnb.dequantize_4bit(packed, state).float()
    tensors = {"weight": packed}
    for key, value in state.as_dict(packed=True).items():
        tensors[f"weight.{key}"] = value
    config = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind,
              "bnb_4bit_use_double_quant": nested}
    return config, tensors, values


def int8(seed: int):
    """bitsandbytes' LLM.int8: what int8_vectorwise_dequant gives."""
    weight = weights(seed)
    largest = weight.abs().amax(1)
    integers = (weight * (127 / largest[:, None])).round().to(torch.int8)
    values = integers.float() * (largest / 127)[:, None]
    return {"quant_method": "bitsandbytes", "load_in_8bit": True}, {
        "weight": integers, "SCB": largest}, values


INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": GROUP}
CASES = {
    "gptq-4": lambda: gptq(4, True, False, 1, 1),
    "gptq-4-ordered": lambda: gptq(4, True, True, 1, 2),
    "gptq-4-zeros": lambda: gptq(4, False, False, 1, 3),
    "gptq-8": lambda: gptq(8, True, False, 1, 4),
    "gptq-v2": lambda: gptq(4, False, True, 2, 5),
    "awq": lambda: awq(6),
    "pack-quantized": lambda: compressed("pack-quantized", {**INT4, "symmetric": True}, 7),
    "pack-quantized-zeros": lambda: compressed("pack-quantized", {**INT4, "symmetric": False}, 8),
    "pack-quantized-ordered": lambda: compressed_ordered(9),
    "int-quantized": lambda: compressed(
        "int-quantized", {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True}, 10),
    "float-quantized": lambda: compressed(
        "float-quantized",
        {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True}, 11),
    "float-quantized-tensor": lambda: compressed(
        "float-quantized",
        {"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": True}, 12),
    "fp8-blocks": lambda: fp8_blocks(13),
    "nf4": lambda: bitsandbytes(False, "nf4", 14),
    "nf4-nested": lambda: bitsandbytes(True, "nf4", 15),
    "fp4": lambda: bitsandbytes(False, "fp4", 16),
    "int8": lambda: int8(17),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes quantized matrices.")
    parser.add_argument("output", type=Path)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(CASES)}")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for name in args.cases or CASES:
        config, tensors, values = CASES[name]()
        stored = {f"layer.{key}": value.contiguous() for key, value in tensors.items()}
        stored["expected"] = values.contiguous().float()
        metadata = {"config": json.dumps(config)}
        save_file(stored, args.output / f"{name}.safetensors", metadata)


if __name__ == "__main__":
    main()
