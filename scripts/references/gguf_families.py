"""Tiny checkpoints of families.py as GGUF files, by llama.cpp's own converter.

Usage: python3 scripts/references/gguf_families.py <llama.cpp> test/fixtures/families test/fixtures/gguf [case ...]
       ... test/fixtures/predictions test/fixtures/predictions-gguf qwen3-next qwen3.5 qwen3.5-moe glm4-moe
Needs: pip install torch transformers; the sources of llama.cpp, as in the package llama-cpp-python

Weights stay as they are; the vocabulary is made up. What the models compute is in families' reference.json.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

LLAMA, FAMILIES, TARGET = map(Path, sys.argv[1:4])
sys.path.insert(0, str(LLAMA))
from conversion import get_model_class  # noqa: E402
from conversion.base import ModelBase, gguf  # noqa: E402

# With what configurations of older checkpoints say, and Transformers no longer writes.
CASES = {
    "mixtral": {},
    "qwen2-moe": {},
    "qwen3-moe-sparse": {},
    "olmoe": {},
    "granite-moe": {},
    "granite-shared": {},
    # Thetas of layers are not read.
    "granite-swa": {
        "no_rope_layers": [1, 0, 1],
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
    },
    "granite-moe-swa": {},
    "granite-shared-swa": {},
    "exaone-moe": {},
    "ernie4.5-moe": {},
    "apertus": {},
    "phimoe-published": {"architectures": ["PhiMoEForCausalLM"]},
    "bamba": {"attn_rotary_emb": 16},
    "ling": {},
    "ling2": {},
    "dots1-full": {},
    "afmoe": {},
    "gpt-oss-mxfp4-limit": {},
    "gemma": {},
    "gemma3n": {},
    "gemma4": {},
    "gemma4-small": {},
    "gemma4-moe": {},
    "llama4": {},
    "cohere": {},
    "command-r-plus": {},
    "cohere2": {"rotary_pct": 1.0},
    "glm": {"seq_length": 64, "layernorm_epsilon": 1.5625e-7},
    "glm4": {},
    "ernie4.5": {},
    "exaone4": {},
    "seed-oss": {},
    "phi": {},
    "stablelm": {},
    "stablelm-parallel": {},
    "stablelm-12b": {},
    "starcoder2": {},
    "arcee": {},
    "nemotron": {},
    "falcon": {"num_kv_heads": 1},
    "falcon-groups": {},
    "falcon-norms": {},
    # The converter knows one alpha; what it writes is the base.
    "hunyuan": {"rope_parameters": {"rope_theta": 1000.0 * 20.0 ** (32 / 30)}},
    "hunyuan-moe": {"rope_parameters": {"rope_theta": 1000.0 * 20.0 ** (32 / 30)}},
    # Not those with biases, which llama.cpp does not have.
    "lfm2": {},
    "lfm2-moe": {},
    "qwen3-next": {},
    "qwen3.5": {},
    "qwen3.5-moe": {},
    "granite-mamba": {"layer_types": ["mamba", "attention", "mamba"]},
    "granite-mamba-moe": {"layer_types": ["mamba", "attention", "mamba"]},
    "nemotron-h": {},
    "nemotron-h-moe": {},
    "falcon-h1": {},
    "falcon-h1-norm": {},
    "mamba2": {},
    "minicpm": {},
    "minicpm3-published": {},
    "minimax-m2": {},
    "deepseek-v2": {},
    "deepseek-v3": {},
    "youtu": {},
    "glm4-moe": {},
    "glm4-moe-lite": {"first_k_dense_replace": 1},
    "gpt2": {"n_ctx": 64},
    "gpt-neox": {"rotary_pct": 0.5},
    # Queries, keys and values as one tensor, as in files of the first checkpoints and with --fuse-qkv.
    "glm+fused": {"seq_length": 64, "layernorm_epsilon": 1.5625e-7},
    "llama+fused": {},
    # The same for gates and ups of experts.
    # The same for gates and ups of experts.
    "qwen3-next+fused": {},
    # As files of the first converter of these models have states' tensors.
    "qwen3-next+joined": {},
    # As files of 2023 have experts.
    "mixtral+lone": {},
    # As the text model of one that sees.
    "qwen3-moe-sparse+images": {
        "architectures": ["Qwen3VLMoeForConditionalGeneration"],
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "mrope_section": [4, 2, 2],
        },
    },
    "glm4+images": {
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "partial_rotary_factor": 0.5,
            "mrope_section": [1, 1, 2],
        }
    },
}
# Transformers would fill in the number of experts, which the converter takes for a mixture.
AS_STATED = {"nemotron-h"}
# Said to be four times as wide as the model, whatever it is.
WIDTHS = {
    "gpt2": ("gpt2.feed_forward_length", 48),
    "falcon": ("falcon.feed_forward_length", 24),
    "falcon-groups": ("falcon.feed_forward_length", 16),
    "falcon-norms": ("falcon.feed_forward_length", 16),
}


def add_vocabulary(model) -> None:
    writer = model.gguf_writer
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([f"<{index}>" for index in range(64)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def joined(modify_tensors):
    def modify(self, tensor, name, layer):
        if "in_proj_qkvz" in name:
            yield self.format_tensor_name(gguf.MODEL_TENSOR.SSM_IN, layer), tensor
        else:
            yield from modify_tensors(self, tensor, name, layer)

    return modify


def lone(modify_tensors):
    kinds = {"w1": "gate", "w2": "down", "w3": "up"}

    def modify(self, tensor, name, layer):
        expert = re.search(r"experts\.(\d+)\.(w\d)\.", name)
        if expert is None:
            yield from modify_tensors(self, tensor, name, layer)
        else:
            yield f"blk.{layer}.ffn_{kinds[expert[2]]}.{expert[1]}.weight", tensor

    return modify


def returned(modify_tensors):
    """Writes what the converter returns where it should yield it: norms of heads, as one tensor."""

    def modify(self, tensor, name, layer):
        yield from (yield from modify_tensors(self, tensor, name, layer)) or ()

    return modify


# What converters of former days did, and what today's means to do.
OTHERWISE = {"joined": joined, "lone": lone, "stablelm-12b": returned}


def convert(name: str, fields: dict) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        case, _, variant = name.partition("+")
        for file in ("model.safetensors", "config.json"):
            shutil.copy(FAMILIES / case / file, folder)
        if name.startswith("gemma4"):
            # Rows of embeddings without a token are left out.
            vocabulary = {f"<{index}>": index for index in range(64)}
            tokenizer = {"model": {"vocab": vocabulary}, "added_tokens": []}
            (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        stated = json.loads((folder / "config.json").read_text())
        read = stated if name in AS_STATED else ModelBase.load_hparams(folder, False)
        config = {**read, **fields}
        of = get_model_class(config["architectures"][0])
        if (variant or case) in OTHERWISE:
            modify = OTHERWISE[variant or case](of.modify_tensors)
            of = type(of.__name__, (of,), {"model_arch": of.model_arch, "modify_tensors": modify})
        of.set_vocab = add_vocabulary
        # Modules that predict, where checkpoints have them.
        of.no_mtp = FAMILIES.name != "predictions"
        target = TARGET / f"{name}.gguf"
        # Weights times a factor are no longer in bfloat16.
        in_floats = name == "ling" or name.startswith("falcon-h1")
        stored = gguf.LlamaFileType.ALL_F32 if in_floats else gguf.LlamaFileType.MOSTLY_BF16
        is_fused = variant == "fused"
        model = of(
            folder,
            stored,
            target,
            eager=True,
            hparams=config,
            fuse_qkv=is_fused,
            fuse_gate_up_exps=is_fused,
        )
        if name in WIDTHS:
            key, width = WIDTHS[name]
            set_parameters = model.set_gguf_parameters

            def with_width() -> None:
                set_parameters()
                model.gguf_writer.kv_data[0][key].value = width

            model.set_gguf_parameters = with_width
        model.write()
        print(target)


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[4:] or CASES:
        convert(name, CASES[name])


main()
