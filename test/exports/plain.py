"""Exports whose attention is made of plain operators, with what PyTorch computes: plain/ and plain-reference.json.

    pip install torch transformers onnx onnxscript onnxruntime onnxruntime-genai onnx-ir
    python test/exports/plain.py
"""

import json
import shutil
import tempfile
from pathlib import Path

import onnx
import torch
import transformers
from transformers import DynamicCache

from greedy import greedy
from make import build as build_with_genai

HERE = Path(__file__).parent
TARGET = HERE / "plain"
VOCAB_SIZE, MAX_LENGTH, HEAD_DIM = 64, 128, 16
IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
SHAPE = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": MAX_LENGTH,
    **IDS,
}
PROMPTS = [[1, 60, 17, 42], [7] * 3 + list(range(20, 55)), [1] + list(range(62, 17, -3))]

CASES = {
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=VOCAB_SIZE, n_positions=MAX_LENGTH, n_embd=32, n_layer=2, n_head=2, n_inner=32, **IDS
        )
    ),
    "gpt-neox": lambda: transformers.GPTNeoXForCausalLM(
        transformers.GPTNeoXConfig(**SHAPE, intermediate_size=32)
    ),
    # More heads of queries than of keys.
    "llama": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**SHAPE, intermediate_size=32, num_key_value_heads=1)
    ),
    # Positions are added to tokens, two places further on; ReLU.
    "opt": lambda: transformers.OPTForCausalLM(
        transformers.OPTConfig(**SHAPE, ffn_dim=32, word_embed_proj_dim=32)
    ),
    # Refused: what is added to scores depends on the distance.
    "bloom": lambda: transformers.BloomForCausalLM(
        transformers.BloomConfig(
            vocab_size=VOCAB_SIZE, hidden_size=32, n_layer=1, n_head=2, num_attention_heads=2,
            max_position_embeddings=MAX_LENGTH, **IDS
        )
    ),
    "mistral-window": lambda: transformers.MistralForCausalLM(
        transformers.MistralConfig(**{**SHAPE, "num_hidden_layers": 1}, intermediate_size=32, num_key_value_heads=1, sliding_window=16)
    ),
}


# By ONNX Runtime GenAI's model builder, in float16 for a CPU: MultiHeadAttention.
GENAI = "genai-fp16"
CASES[GENAI] = lambda: transformers.LlamaForCausalLM(
    transformers.LlamaConfig(**SHAPE, intermediate_size=32, num_key_value_heads=2)
)


class Exported(torch.nn.Module):
    """A model whose cache is given and returned as tensors."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, *past):
        cache = DynamicCache(list(zip(past[::2], past[1::2])))
        result = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=cache,
            use_cache=True,
        )
        present = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
        return (result.logits, *present)


def build(name):
    torch.manual_seed(3)
    model = CASES[name]().eval()
    for key, parameter in model.named_parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, 0, 0.1 if "emb" in key or "wte" in key else 0.3)
        else:
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
    model.set_attn_implementation("eager")
    return model


def export(model, folder):
    config = model.config
    heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    layers = range(config.num_hidden_layers)
    past = [torch.randn(1, heads, 3, HEAD_DIM) for _ in layers for _ in range(2)]
    names = [f"{layer}.{kind}" for layer in layers for kind in ("key", "value")]
    inputs = (torch.ones(1, 2, dtype=torch.long), torch.ones(1, 5, dtype=torch.long), torch.tensor([[3, 4]]))
    batch, seq, length = "batch", "seq", "past"
    axes = {"input_ids": {0: batch, 1: seq}, "attention_mask": {0: batch, 1: "all"}, "position_ids": {0: batch, 1: seq}}
    axes |= {f"past_key_values.{name}": {0: batch, 2: length} for name in names}
    axes |= {f"present.{name}": {0: batch, 2: "all"} for name in names} | {"logits": {0: batch, 1: seq}}
    (folder / "onnx").mkdir(parents=True)
    path = folder / "onnx" / "model.onnx"
    torch.onnx.export(
        Exported(model),
        (*inputs, *past),
        path,
        input_names=["input_ids", "attention_mask", "position_ids", *(f"past_key_values.{name}" for name in names)],
        output_names=["logits", *(f"present.{name}" for name in names)],
        dynamic_axes=axes,
        opset_version=18,
        dynamo=False,
    )
    # In one precision, without what PyTorch notes.
    graph = onnx.load(path)
    for node in graph.graph.node:
        node.ClearField("doc_string")
    onnx.save(graph, path)
    text = config.to_json_string(use_diff=False)
    kept = ("model_type", "vocab_size", "hidden_size", "num_attention_heads", "max_position_embeddings",
            "n_embd", "n_head", "n_positions", "bos_token_id", "eos_token_id")
    fields = {key: value for key, value in json.loads(text).items() if key in kept}
    if config.model_type == "bloom":
        # Its own name is not known.
        fields["num_attention_heads"] = fields.pop("n_head")
    (folder / "config.json").write_text(json.dumps(fields, indent=2) + "\n")


def export_with_genai(model, folder):
    source = Path(tempfile.mkdtemp())
    model.save_pretrained(source)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(HERE / "genai" / name, source)
    build_with_genai(source, folder, "fp16")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()


def main():
    shutil.rmtree(TARGET, ignore_errors=True)
    reference = {}
    for name in CASES:
        model = build(name)
        if name == GENAI:
            # Weights as the export has them.
            model.half().float()
            export_with_genai(model, TARGET / name)
        # First: the exporter changes what GPT-2 computes afterwards.
        reference[name] = [greedy(model, prompt) for prompt in PROMPTS]
        if name != GENAI:
            export(model, TARGET / name)
    (HERE / "plain-reference.json").write_text(json.dumps(reference) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
