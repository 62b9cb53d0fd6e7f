"""Tiny text encoders as sentence-transformers writes them, with what it computes from them.

    python3 encoders.py test/fixtures/encoders           writes every case
    python3 encoders.py test/fixtures/encoders bert      writes the named ones
    python3 encoders.py test/fixtures/encoders bert xlm-roberta --tokens    vectors of tokens, by Transformers

A case is a folder with a tokenizer, random weights (in bfloat16, computed in float32) and
reference.json: token ids, and vectors or scores. Those with an export have onnx/model.onnx, too.
"""

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
import transformers
from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.sentence_transformer.modules import (
    Dense,
    Normalize,
    Pooling,
    Transformer,
)
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
from tiny_texts import MAX_LENGTH, QUERY, SHAPE, TEXTS, bert_tokenizer, unigram_tokenizer

def save(folder: Path, model: torch.nn.Module, tokenizer) -> None:
    for name, parameter in model.named_parameters():
        # As they come, norms would be 1 and biases 0.
        if name.endswith("bias") or "LayerNorm" in name:
            parameter.data += 0.2 * torch.randn_like(parameter)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def bert(**config) -> transformers.BertConfig:
    size = len(bert_tokenizer())
    return transformers.BertConfig(
        **{**SHAPE, "vocab_size": size, "max_position_embeddings": MAX_LENGTH, **config}
    )


def xlm_roberta(**config) -> transformers.XLMRobertaConfig:
    size = len(unigram_tokenizer())
    positions = {"vocab_size": size, "max_position_embeddings": MAX_LENGTH + 2}
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    return transformers.XLMRobertaConfig(
        **{**SHAPE, **positions, **ids, "type_vocab_size": 1, **config}
    )


def embedder(model: torch.nn.Module, tokenizer, modules: Callable[[int], list], **options):
    def write(folder: Path) -> dict:
        save(folder, model, tokenizer)
        transformer = Transformer(str(folder), max_seq_length=options.get("length", MAX_LENGTH))
        prompts = {"prompts": options["prompts"]} if "prompts" in options else {}
        parts = [transformer, *modules(transformer.get_embedding_dimension())]
        whole = SentenceTransformer(modules=parts, device="cpu", **prompts).to(torch.bfloat16)
        shutil.rmtree(folder)
        whole.save_pretrained(str(folder), create_model_card=False)
        whole = SentenceTransformer(str(folder), device="cpu").to(torch.float32)
        limits = {"truncation": True, "max_length": whole.max_seq_length}
        ids = [whole.tokenizer(text, **limits)["input_ids"] for text in TEXTS]
        vectors = whole.encode(TEXTS, batch_size=2, prompt="")
        reference = {"texts": TEXTS, "ids": ids, "vectors": vectors.tolist()}
        if "prompts" in options:
            name = next(iter(options["prompts"]))
            reference["prompt"] = {
                "name": name,
                "vectors": whole.encode(TEXTS, prompt_name=name).tolist(),
            }
        if options.get("export"):
            export(folder)
        return reference

    return write


class Exported(torch.nn.Module):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        eager = {"attn_implementation": "eager", "dtype": torch.float32}
        self.model = transformers.AutoModel.from_pretrained(folder, **eager).eval()

    def forward(self, input_ids, attention_mask, token_type_ids):
        inputs = {"input_ids": input_ids, "token_type_ids": token_type_ids}
        return self.model(**inputs, attention_mask=attention_mask).last_hidden_state


def export(folder: Path) -> None:
    names = ["input_ids", "attention_mask", "token_type_ids"]
    ones = torch.ones(2, 5, dtype=torch.int64)
    (folder / "onnx").mkdir()
    axes = {0: "batch_size", 1: "sequence_length"}
    torch.onnx.export(
        Exported(folder),
        (ones, ones, 0 * ones),
        str(folder / "onnx" / "model.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: axes for name in [*names, "last_hidden_state"]},
        opset_version=18,
        dynamo=False,
    )


def reranker(model: torch.nn.Module, tokenizer):
    def write(folder: Path) -> dict:
        save(folder, model, tokenizer)
        whole = CrossEncoder(str(folder), device="cpu", max_length=MAX_LENGTH)
        whole.model.to(torch.float32)
        pairs = [(QUERY, text) for text in TEXTS]
        identity = torch.nn.Identity()
        # As lists: an empty text by itself would count as none.
        lists = [list(each) for each in zip(*pairs, strict=True)]
        encoded = tokenizer(*lists, truncation=True, max_length=MAX_LENGTH)
        return {
            "query": QUERY,
            "documents": TEXTS,
            "ids": encoded["input_ids"],
            "logits": whole.predict(pairs, activation_fn=identity).tolist(),
            "scores": whole.predict(pairs, activation_fn=torch.nn.Sigmoid()).tolist(),
        }

    return write


def classifier(model: Callable[[], torch.nn.Module], tokenizer):
    """Labels of texts by Transformers' own pipeline, which reads config.json."""

    def write(folder: Path) -> dict:
        # Made here: the weights of the cases above stay what they are.
        save(folder, model(), tokenizer)
        auto = transformers.AutoModelForSequenceClassification
        whole = auto.from_pretrained(folder, dtype=torch.float32).eval()
        pipe = transformers.pipeline("text-classification", model=whole, tokenizer=tokenizer)
        labels = [whole.config.id2label[index] for index in range(whole.config.num_labels)]
        limits = {"truncation": True, "max_length": MAX_LENGTH}
        inputs = [*TEXTS, {"text": QUERY, "text_pair": TEXTS[0]}]

        def rows(**how) -> list[list[float]]:
            # One by one: nothing is padded.
            found = [pipe([each], top_k=None, **limits, **how)[0] for each in inputs]
            by_label = [{each["label"]: each["score"] for each in answer} for answer in found]
            return [[answer[label] for label in labels] for answer in by_label]

        return {
            "texts": TEXTS,
            "pair": [QUERY, TEXTS[0]],
            "labels": labels,
            "ids": [tokenizer(text, **limits)["input_ids"] for text in TEXTS],
            "vectors": rows(function_to_apply="none"),
            "probs": rows(),
        }

    return write


def sparse(model: Callable[[], torch.nn.Module], tokenizer):
    """Weights of words as SPLADE has them."""

    def write(folder: Path) -> dict:
        save(folder, model(), tokenizer)
        modules = [MLMTransformer(str(folder), max_seq_length=MAX_LENGTH), SpladePooling("max")]
        whole = SparseEncoder(modules=modules, device="cpu").to(torch.bfloat16)
        shutil.rmtree(folder)
        whole.save_pretrained(str(folder), create_model_card=False)
        whole = SparseEncoder(str(folder), device="cpu").to(torch.float32)
        limits = {"truncation": True, "max_length": MAX_LENGTH}
        vectors = whole.encode(TEXTS, convert_to_sparse_tensor=False)
        return {
            "texts": TEXTS,
            "ids": [tokenizer(text, **limits)["input_ids"] for text in TEXTS],
            "vectors": [[round(value, 6) for value in row] for row in vectors.tolist()],
        }

    return write


def cases() -> dict[str, Callable[[Path], dict]]:
    return {
        "bert": embedder(
            transformers.BertModel(bert()),
            bert_tokenizer(),
            lambda width: [Pooling(width, "mean"), Normalize()],
            prompts={"query": "who is "},
            length=16,
            export=True,
        ),
        "bert-dense": embedder(
            transformers.BertModel(bert(hidden_act="gelu_new"), add_pooling_layer=False),
            bert_tokenizer(),
            lambda width: [
                Pooling(width, "cls"),
                Dense(width, 8, activation_function=torch.nn.Tanh()),
            ],
        ),
        "xlm-roberta": embedder(
            transformers.XLMRobertaModel(xlm_roberta(), add_pooling_layer=False),
            unigram_tokenizer(),
            lambda width: [Pooling(width, "max")],
        ),
        "xlm-roberta-last": embedder(
            transformers.XLMRobertaModel(xlm_roberta(hidden_act="relu"), add_pooling_layer=False),
            unigram_tokenizer(),
            lambda width: [Pooling(width, "lasttoken"), Normalize()],
        ),
        "bert-reranker": reranker(
            transformers.BertForSequenceClassification(bert(num_labels=1)), bert_tokenizer()
        ),
        "xlm-roberta-reranker": reranker(
            transformers.XLMRobertaForSequenceClassification(xlm_roberta(num_labels=1)),
            unigram_tokenizer(),
        ),
        "bert-classifier": classifier(
            lambda: transformers.BertForSequenceClassification(
                bert(id2label={0: "sad", 1: "neutral", 2: "glad"})
            ),
            bert_tokenizer(),
        ),
        "bert-splade": sparse(lambda: transformers.BertForMaskedLM(bert()), bert_tokenizer()),
        "xlm-roberta-topics": classifier(
            lambda: transformers.XLMRobertaForSequenceClassification(
                xlm_roberta(num_labels=4, problem_type="multi_label_classification")
            ),
            unigram_tokenizer(),
        ),
    }


def token_vectors(folder: Path) -> list[list[list[float]]]:
    """Last hidden states of TEXTS, one text at a time: nothing is padded."""
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    ids = json.loads((folder / "reference.json").read_text())["ids"]
    with torch.no_grad():
        return [model(torch.tensor([each])).last_hidden_state[0].tolist() for each in ids]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tokens", action="store_true", help="tokens.json of folders that are there")
    arguments = parser.parse_args()
    if arguments.tokens:
        for name in arguments.names:
            folder = arguments.folder / name
            (folder / "tokens.json").write_text(json.dumps(token_vectors(folder)))
        return
    for name in arguments.names or cases():
        torch.manual_seed(0)
        write = cases()[name]
        folder = arguments.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        reference = write(folder)
        (folder / "reference.json").write_text(json.dumps(reference))
        print(name)


if __name__ == "__main__":
    main()
