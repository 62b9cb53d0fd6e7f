"""Makes the exports in this folder, and reference.json: what ONNX Runtime computes with them as they came.

    pip install onnxruntime-genai onnxruntime onnx onnx-ir torch transformers
    python test/exports/make.py
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import onnxruntime_genai
import torch
from transformers import AutoModelForCausalLM, Gemma2Config, Qwen3Config

HERE = Path(__file__).parent
SUMMIT = HERE.parent.parent / "models" / "summit"
VOCAB_SIZE = 288
NEW_TOKENS = 16

sys.path.insert(0, str(Path(onnxruntime_genai.__file__).parent / "models"))
import builder  # noqa: E402
from builders import base  # noqa: E402

SHAPE = dict(
    vocab_size=VOCAB_SIZE,
    hidden_size=32,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=16,
    max_position_embeddings=128,
    tie_word_embeddings=True,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)


def write_tokenizer(folder):
    """Summit's, with the first of its merges only."""
    file = json.loads((SUMMIT / "tokenizer.json").read_text())
    model = file["model"]
    model["vocab"] = {text: id for text, id in model["vocab"].items() if id < VOCAB_SIZE}
    model["merges"] = [
        merge for merge in model["merges"] if merge.replace(" ", "", 1) in model["vocab"]
    ]
    text = json.dumps(file, ensure_ascii=False, separators=(",", ":"))
    (folder / "tokenizer.json").write_text(text)
    for name in ("tokenizer_config.json", "generation_config.json"):
        shutil.copy(SUMMIT / name, folder)


def write_model(config, folder, seed):
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config)
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, 0, 0.1 if "embed" in name else 0.4)
        else:
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    write_tokenizer(folder)


def build(source, target, precision):
    """What `python -m onnxruntime_genai.models.builder` does with these arguments."""
    arguments = ["-i", source, "-o", target, "-p", precision, "-e", "cpu", "-c", target]
    sys.argv = ["builder.py", *map(str, arguments)]
    code = compile(Path(builder.__file__).read_text(), builder.__file__, "exec")
    exec(code, {"__name__": "__main__", "__file__": builder.__file__})


def greedy(path, prompt, threads=1):
    """Logits behind the prompt, and the tokens that follow; one by one, with a mask of ones."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    heads, size = SHAPE["num_key_value_heads"], SHAPE["head_dim"]
    # Where a layer's cache is its window, it has its size from the beginning.
    dims = {each.name: each.shape[2] for each in session.get_inputs() if len(each.shape) == 4}
    past = {
        name: np.zeros((1, heads, 128 if dim == "past_sliding_length" else 0, size), np.float32)
        for name, dim in dims.items()
    }
    tokens, new, first = list(prompt), list(prompt), None
    for _ in range(NEW_TOKENS):
        feeds = dict(past)
        feeds["input_ids"] = np.array([new], np.int64)
        feeds["attention_mask"] = np.ones((1, len(tokens)), np.int64)
        if "position_ids" in names:
            feeds["position_ids"] = np.arange(len(tokens) - len(new), len(tokens))[None]
        results = session.run(None, feeds)
        outputs = dict(zip([each.name for each in session.get_outputs()], results))
        past = {name: outputs[name.replace("past_key_values", "present")] for name in past}
        logits = outputs["logits"][0, -1]
        first = logits if first is None else first
        new = [int(logits.argmax())]
        tokens += new
    return [round(float(value), 4) for value in first], tokens[len(prompt) :]


def main():
    scratch = Path(tempfile.mkdtemp())
    shutil.rmtree(HERE / "genai", ignore_errors=True)
    shutil.rmtree(HERE / "hub", ignore_errors=True)

    # By the model builder: soft caps and a window.
    source = scratch / "gemma2"
    caps = dict(sliding_window=8, attn_logit_softcapping=5.0, final_logit_softcapping=10.0)
    write_model(Gemma2Config(**SHAPE, **caps, query_pre_attn_scalar=16), source, 1)
    build(source, HERE / "genai", "fp32")

    # As on the hub: rotary embedding by positions, several precisions, weights inside and outside.
    source, hub = scratch / "qwen3", HERE / "hub"
    write_model(Qwen3Config(**SHAPE), source, 2)
    (hub / "onnx").mkdir(parents=True)
    for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(source / name, hub)
    base.Model.is_fused_rope_supported = lambda self: False
    for precision, name in (("fp32", "model.onnx"), ("int4", "model_q4.onnx")):
        build(source, scratch / precision, precision)
        model = onnx.load(scratch / precision / "model.onnx")
        external = dict(save_as_external_data=True, location=f"{name}_data", size_threshold=0)
        onnx.save(model, hub / "onnx" / name, **(external if precision == "fp32" else {}))

    prompts = [[1, 280, 17, 42], [7] * 3 + list(range(40, 75)), [1] + list(range(285, 240, -3))]
    reference = {}
    for name in ("genai/model.onnx", "hub/onnx/model.onnx", "hub/onnx/model_q4.onnx"):
        results = [greedy(HERE / name, prompt) for prompt in prompts]
        reference[name] = [
            {"prompt": prompt, "logits": logits, "greedy": tokens}
            for prompt, (logits, tokens) in zip(prompts, results)
        ]
    (HERE / "reference.json").write_text(json.dumps(reference, separators=(",", ":")) + "\n")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
