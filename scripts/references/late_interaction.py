"""Tiny models of late interaction, as PyLate and Stanford's ColBERT write them, with what PyLate computes.

    pip install pylate==1.6.0
    python3 late_interaction.py test/fixtures/late-interaction           writes every case
    python3 late_interaction.py test/fixtures/late-interaction pylate    writes the named ones

A case is a folder with a tokenizer, random weights (in float16, computed in float32) and reference.json: the vectors of
queries and documents, and the scores of each document for each query.
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
import transformers
from pylate.models import ColBERT, Dense
from safetensors.torch import load_file, save_file
from sentence_transformers.models import Transformer
from tiny_texts import MAX_LENGTH, SHAPE, TEXTS, bert_tokenizer, rounded

QUERIES = ["Who sat on the mat?", "cat", "", "What is far, and who ran over the high moon and the mat?"]
DIM = 8


def tokenizer_of() -> transformers.PreTrainedTokenizerFast:
    return bert_tokenizer("[MASK]", "[unused0]", "[unused1]")


def bert(size: int) -> transformers.BertConfig:
    return transformers.BertConfig(**SHAPE, vocab_size=size, max_position_embeddings=MAX_LENGTH)


def modernbert(size: int) -> transformers.ModernBertConfig:
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    shape = SHAPE | ids | {"num_hidden_layers": 3, "max_position_embeddings": MAX_LENGTH}
    return transformers.ModernBertConfig(**shape, vocab_size=size, local_attention=8)


def write_body(folder: Path, config) -> None:
    model = transformers.AutoModel.from_config(config)
    for key, parameter in model.named_parameters():
        # As they come, norms would be 1 and biases 0.
        if key.endswith("bias") or "norm" in key.lower():
            parameter.data += 0.2 * torch.randn_like(parameter)
    model.to(torch.float16).save_pretrained(folder)


def pylate(config_of, **how):
    def write(folder: Path) -> None:
        tokenizer = tokenizer_of()
        write_body(folder, config_of(len(tokenizer)))
        tokenizer.save_pretrained(folder)
        # Whole, for the prefixes become tokens of the model.
        dense = Dense(in_features=16, out_features=DIM, bias=False)
        dense.linear.weight.data = torch.randn(DIM, 16).to(torch.float16).float()
        model = ColBERT(modules=[Transformer(str(folder)), dense], device="cpu", **how)
        shutil.rmtree(folder)
        model.to(torch.float16).save_pretrained(str(folder), create_model_card=False)

    return write


def stanford(**metadata):
    def write(folder: Path) -> None:
        tokenizer = tokenizer_of()
        write_body(folder, bert(len(tokenizer)))
        tokenizer.save_pretrained(folder)
        path = folder / "model.safetensors"
        tensors = {f"bert.{name}": value for name, value in load_file(path).items()}
        tensors["linear.weight"] = torch.randn(DIM, 16).to(torch.float16)
        save_file(tensors, path, metadata={"format": "pt"})
        config = json.loads((folder / "config.json").read_text())
        config["architectures"] = ["HF_ColBERT"]
        (folder / "config.json").write_text(json.dumps(config, indent=2))
        (folder / "artifact.metadata").write_text(json.dumps(metadata | {"dim": DIM}))

    return write


CASES = {
    "pylate": pylate(bert, query_length=16, document_length=20),
    "pylate-modernbert": pylate(
        modernbert, query_length=18, document_length=24, attend_to_expansion_tokens=True
    ),
    "pylate-unexpanded": pylate(
        modernbert,
        query_length=12,
        document_length=16,
        do_query_expansion=False,
        skiplist_words=[".", "the"],
    ),
    "stanford": stanford(
        query_maxlen=14,
        doc_maxlen=20,
        query_token_id="[unused0]",
        doc_token_id="[unused1]",
        attend_to_mask_tokens=False,
    ),
}


def reference(folder: Path) -> dict:
    model = ColBERT(str(folder), device="cpu").to(torch.float32)
    queries = model.encode(QUERIES, is_query=True, batch_size=1)
    documents = model.encode(TEXTS, is_query=False, batch_size=1)
    scores = [
        [float((torch.tensor(query) @ torch.tensor(document).T).max(1).values.sum()) for document in documents]
        for query in queries
    ]
    return {
        "queries": QUERIES,
        "documents": TEXTS,
        "queryVectors": [each.tolist() for each in queries],
        "documentVectors": [each.tolist() for each in documents],
        "scores": scores,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    for name in arguments.names or CASES:
        torch.manual_seed(0)
        folder = arguments.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        CASES[name](folder)
        (folder / "reference.json").write_text(json.dumps(rounded(reference(folder)), separators=(",", ":")))
        print(name)


if __name__ == "__main__":
    main()
