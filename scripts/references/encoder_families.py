"""Tiny encoders of the families that are built from weights, with what Transformers computes from them.

    python3 encoder_families.py test/fixtures/encoder-families            writes every case
    python3 encoder_families.py test/fixtures/encoder-families mpnet      writes the named ones

A case is a folder with a tokenizer, random weights (in float16, computed in float32) of the body and of
the heads that Transformers has for the family, and reference.json. Tests take the head that they want by
the architecture in config.json. Texts are computed one by one: nothing is padded.
"""

import argparse
import inspect
import json
import shutil
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from tiny_texts import (
    MAX_LENGTH,
    QUERY,
    TEXTS,
    bert_tokenizer,
    deberta_tokenizer,
    rounded,
    unigram_tokenizer,
)

SHAPE = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "initializer_range": 0.4,
    "max_position_embeddings": MAX_LENGTH,
}
LABELS = {"id2label": {0: "contradiction", 1: "neutral", 2: "entailment"}}
LABELS["label2id"] = {name: index for index, name in LABELS["id2label"].items()}


def cases() -> dict:
    bert, unigram = bert_tokenizer(), unigram_tokenizer()
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    xlm_ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    deberta = {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "layer_norm_eps": 1e-7,
    }
    return {
        "bert": (bert, transformers.BertConfig(**SHAPE)),
        "xlm-roberta": (
            unigram,
            transformers.XLMRobertaConfig(
                **SHAPE | xlm_ids | {"max_position_embeddings": MAX_LENGTH + 2}
            ),
        ),
        "distilbert": (
            bert,
            transformers.DistilBertConfig(
                dim=16,
                hidden_dim=24,
                n_layers=2,
                n_heads=2,
                initializer_range=0.4,
                max_position_embeddings=MAX_LENGTH,
            ),
        ),
        "mpnet": (
            unigram,
            transformers.MPNetConfig(
                **SHAPE | xlm_ids | {"max_position_embeddings": MAX_LENGTH + 2}
            ),
        ),
        "modernbert": (
            bert,
            transformers.ModernBertConfig(
                **SHAPE | ids | {"num_hidden_layers": 3},
                cls_token_id=2,
                sep_token_id=3,
                local_attention=8,
                classifier_pooling="mean",
            ),
        ),
        "nomic-bert": (
            bert,
            transformers.NomicBertConfig(
                **SHAPE | ids, rope_parameters={"rope_type": "default", "rope_theta": 1000.0}
            ),
        ),
        "gte": (
            bert,
            transformers.GteConfig(
                **SHAPE | ids,
                type_vocab_size=2,
                rope_parameters={"rope_type": "default", "rope_theta": 160000.0},
            ),
        ),
        # As v3: buckets of distances, with a norm, and keys and queries by the contents' matrices.
        "deberta-v3": (
            deberta_tokenizer(),
            transformers.DebertaV2Config(
                **SHAPE | deberta,
                position_buckets=6,
                norm_rel_ebd="layer_norm",
                share_att_key=True,
                position_biased_input=False,
            ),
        ),
        # Other parts that v2 may have.
        "deberta-v2": (
            deberta_tokenizer(),
            transformers.DebertaV2Config(
                **SHAPE | deberta,
                max_relative_positions=10,
                share_att_key=False,
                type_vocab_size=2,
                pooler_hidden_act="tanh",
            ),
        ),
        "embedding-gemma": (
            bert,
            transformers.Gemma3TextConfig(
                **SHAPE | ids | {"num_hidden_layers": 3},
                num_key_value_heads=1,
                head_dim=8,
                query_pre_attn_scalar=16,
                sliding_window=8,
                layer_types=["sliding_attention", "sliding_attention", "full_attention"],
                use_bidirectional_attention=True,
            ),
        ),
    }


AUTO = {
    "body": transformers.AutoModel,
    "labels": transformers.AutoModelForSequenceClassification,
    "words": transformers.AutoModelForMaskedLM,
}


def write(folder: Path, tokenizer, config) -> dict:
    config.vocab_size = len(tokenizer)
    for name, value in LABELS.items():
        setattr(config, name, value)
    heads = [name for name, auto in AUTO.items() if has(auto, config)]
    if config.model_type == "gemma3_text":
        # Its head reads the last token; no model that is deployed has it.
        heads.remove("labels")
    tensors: dict[str, torch.Tensor] = {}
    architectures = {}
    for name in heads:
        model = AUTO[name].from_config(config)
        for key, parameter in model.named_parameters():
            # As they come, norms would be 1 and biases 0.
            if key.endswith("bias") or "norm" in key.lower():
                parameter.data += 0.2 * torch.randn_like(parameter)
        model.to(torch.float16).save_pretrained(folder)
        architectures[name] = type(model).__name__
        # The first head that has a tensor decides on it, so that all have the same body.
        for key, value in load_file(folder / "model.safetensors").items():
            tensors.setdefault(bare(key, model, name), value)
    prefix = prefix_of(heads, config)
    stored = {named(key, prefix): value for key, value in tensors.items()}
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    config.architectures = [architectures.get("labels", architectures["body"])]
    config.dtype = torch.float16
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return reference(folder, tokenizer, architectures)


def has(auto, config) -> bool:
    return type(config) in auto._model_mapping


def bare(key: str, model, head: str) -> str:
    prefix = f"{model.base_model_prefix}."
    if head == "body" or key.startswith(prefix):
        return f"body/{key.removeprefix(prefix)}"
    return f"other/{key}"


def prefix_of(heads, config) -> str:
    return f"{AUTO['labels'].from_config(config).base_model_prefix}." if "labels" in heads else ""


def named(key: str, prefix: str) -> str:
    kind, name = key.split("/", 1)
    return f"{prefix}{name}" if kind == "body" else name


def reference(folder: Path, tokenizer, architectures) -> dict:
    limits = {"truncation": True, "max_length": MAX_LENGTH}
    encoded = [tokenizer(text, **limits) for text in TEXTS]
    pair = tokenizer(QUERY, TEXTS[0], **limits)
    # Where there are no types, all tokens are of the first.
    second_start = pair.get("token_type_ids", [0] * len(pair["input_ids"])).count(0)
    made: dict = {
        "architectures": architectures,
        "texts": TEXTS,
        "ids": [each["input_ids"] for each in encoded],
        "pair": pair["input_ids"],
        "pairSecondStart": second_start,
    }
    for name in architectures:
        model = AUTO[name].from_pretrained(folder, dtype=torch.float32).eval()
        inputs = [*encoded, pair] if name == "labels" else encoded
        takes = inspect.signature(model.forward).parameters
        rows = []
        for each in inputs:
            tensors = {key: torch.tensor([value]) for key, value in each.items() if key in takes}
            with torch.no_grad():
                rows.append(model(**tensors))
        if name == "body":
            made["tokens"] = [row.last_hidden_state[0].tolist() for row in rows]
        elif name == "labels":
            made["logits"] = [row.logits[0].tolist() for row in rows]
        else:
            weights = [torch.log1p(torch.relu(row.logits[0])).amax(0) for row in rows]
            made["words"] = [row.tolist() for row in weights]
    if config_of(folder).model_type == "bert":
        made["zeroShot"] = zero_shot(folder, tokenizer)
    return rounded(made)


def config_of(folder: Path):
    return transformers.AutoConfig.from_pretrained(folder)


def zero_shot(folder: Path, tokenizer) -> dict:
    """Scores of labels by Transformers' pipeline, in the order of the labels."""
    model = AUTO["labels"].from_pretrained(folder, dtype=torch.float32).eval()
    pipe = transformers.pipeline("zero-shot-classification", model=model, tokenizer=tokenizer)
    labels, template = ["cat", "high moon", "dog"], "the {} sat ."
    texts = [text for text in TEXTS if text]

    def scores(**how) -> list[list[float]]:
        found = [pipe(text, labels, hypothesis_template=template, **how) for text in texts]
        by_label = [dict(zip(each["labels"], each["scores"], strict=True)) for each in found]
        return [[each[label] for label in labels] for each in by_label]

    return {
        "texts": texts,
        "labels": labels,
        "template": template,
        "single": scores(),
        "multi": scores(multi_label=True),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    for name in arguments.names or cases():
        torch.manual_seed(0)
        folder = arguments.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        made = write(folder, *cases()[name])
        (folder / "reference.json").write_text(json.dumps(made, separators=(",", ":")))
        print(name)


if __name__ == "__main__":
    main()
