"""Exports as tools make them: tools/, and tools-reference.json with what PyTorch computes.

    pip install torch transformers onnxruntime-genai onnx onnx-ir onnxruntime onnxscript
    python test/exports/tools.py genai-cuda
    pip install optimum-onnx
    python test/exports/tools.py optimum-gemma
    python test/exports/tools.py optimum-gemma2

Optimum needs an older release of Transformers than the model builder.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import onnx
import torch
import transformers

from greedy import greedy

HERE = Path(__file__).parent
TARGET, REFERENCE = HERE / "tools", HERE / "tools-reference.json"
SHAPE = dict(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=16,
    max_position_embeddings=128,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)
PROMPTS = [[1, 60, 17, 42], [7] * 3 + list(range(20, 55)), [1] + list(range(62, 17, -3))]


def genai_cuda(source, target):
    """ONNX Runtime GenAI's model builder, for CUDA: norms of heads are in GroupQueryAttention."""
    import onnxruntime_genai

    sys.path.insert(0, str(Path(onnxruntime_genai.__file__).parent / "models"))
    import builder

    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(HERE / "genai" / name, source)
    sys.argv = ["builder.py", *map(str, ["-i", source, "-o", target, "-p", "fp16", "-e", "cuda", "-c", source])]
    given = builder.get_args()
    names = ("model_name", "input", "output", "precision", "execution_provider", "cache_dir")
    places = [getattr(given, name) for name in names]
    builder.create_model(*places, **builder.parse_extra_options(*places, given.extra_options))
    for file in target.iterdir():
        if file.name not in ("genai_config.json", "model.onnx", "model.onnx.data"):
            file.unlink()


def optimum(source, target):
    from optimum.exporters.onnx import main_export

    main_export(str(source), str(target), task="text-generation-with-past", do_validation=False)
    (target / "generation_config.json").unlink()
    # Without what PyTorch notes.
    graph = onnx.load(target / "model.onnx")
    for node in graph.graph.node:
        node.ClearField("doc_string")
    onnx.save(graph, target / "model.onnx")


CASES = {
    "genai-cuda": (lambda: transformers.Qwen3Config(**SHAPE, tie_word_embeddings=True), genai_cuda),
    # It counts positions itself.
    "optimum-gemma": (lambda: transformers.GemmaConfig(**SHAPE), optimum),
    # A window in the first layer; the cap is in config.json alone.
    "optimum-gemma2": (
        lambda: transformers.Gemma2Config(
            **SHAPE, sliding_window=16, attn_logit_softcapping=2.0, final_logit_softcapping=5.0, query_pre_attn_scalar=16
        ),
        optimum,
    ),
}


def main(name):
    config, export = CASES[name]
    torch.manual_seed(3)
    model = transformers.AutoModelForCausalLM.from_config(config(), attn_implementation="eager").eval()
    for key, parameter in model.named_parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, 0, 0.1 if "emb" in key else 0.3)
        else:
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
    if name == "genai-cuda":
        # Weights as the export has them.
        model.half().float()
    source = Path(tempfile.mkdtemp())
    model.save_pretrained(source)
    shutil.rmtree(TARGET / name, ignore_errors=True)
    export(source, TARGET / name)
    reference = json.loads(REFERENCE.read_text()) if REFERENCE.exists() else {}
    reference[name] = [greedy(model, prompt) for prompt in PROMPTS]
    REFERENCE.write_text(json.dumps(reference) + "\n")


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    torch.set_num_threads(1)
    main(sys.argv[1])
