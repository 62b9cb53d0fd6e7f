"""Peers of scripts/bench/encoders.ts: sentence-transformers, and ONNX Runtime in fp32 and dynamic int8.

    python3 encoder_peers.py FOLDER THREADS       answers lines of JSON: {"peer", "texts"}
    python3 encoder_peers.py FOLDER --like FROM   writes BERT base with random weights and FROM's tokenizer

ONNX Runtime computes what torch.onnx makes of the model; its int8 is quantize_dynamic, one scale for each
channel. Needs sentence-transformers, onnxruntime, onnx and onnxscript.
"""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel


def make(folder: Path, source: Path) -> None:
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    torch.manual_seed(0)
    vocab = len(AutoTokenizer.from_pretrained(source))
    # Random weights of the usual size make vectors that are all alike.
    BertModel(BertConfig(vocab_size=vocab, initializer_range=0.06)).save_pretrained(folder)
    path = folder / "1_Pooling/config.json"
    pooling = json.loads(path.read_text())
    for key in ("word_embedding_dimension", "embedding_dimension"):
        if key in pooling:
            pooling[key] = 768
    path.write_text(json.dumps(pooling))


class Hidden(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        return self.model(**inputs, token_type_ids=token_type_ids).last_hidden_state


def export(folder: str, path: Path) -> None:
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = tuple(torch.ones(2, 8, dtype=torch.long) for _ in names)
    batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq", max=512)
    torch.onnx.export(
        Hidden(model).eval(),
        example,
        str(path),
        input_names=names,
        output_names=["hidden"],
        dynamic_shapes=tuple({0: batch, 1: seq} for _ in names),
        dynamo=True,
        external_data=False,
    )


class Onnx:
    def __init__(self, folder: str, path: Path, threads: int):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def encode(self, texts: list[str]) -> np.ndarray:
        encoded = self.tokenizer(
            texts, padding=True, truncation=True, max_length=256, return_tensors="np"
        )
        feeds = {name: encoded[name].astype(np.int64) for name in encoded}
        (hidden,) = self.session.run(None, feeds)
        weights = feeds["attention_mask"][..., None].astype(np.float32)
        pooled = (hidden * weights).sum(1) / weights.sum(1)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def main() -> None:
    folder, what = sys.argv[1:3]
    if what == "--like":
        make(Path(folder), Path(sys.argv[3]))
        return
    threads = int(what)
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch) / name for name in ("model.onnx", "int8.onnx")]
        export(folder, paths[0])
        quantize_dynamic(paths[0], paths[1], weight_type=QuantType.QInt8, per_channel=True)
        onnx, int8 = (Onnx(folder, path, threads) for path in paths)
    model = SentenceTransformer(folder, device="cpu")
    peers = {
        "torch": lambda texts: model.encode(
            texts, batch_size=len(texts), normalize_embeddings=True, show_progress_bar=False
        ),
        "onnx": onnx.encode,
        "onnx-int8": int8.encode,
    }
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        start = time.perf_counter()
        vectors = peers[asked["peer"]](asked["texts"])
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "vectors": vectors.tolist()}), flush=True)


if __name__ == "__main__":
    main()
