"""What decoders tell of texts besides tokens: hidden states, embeddings, and scores of pairs.

    python3 embeddings.py test/fixtures

Writes families-hidden.json, the last norm's output after the long prompt of each case of families.py, and
decoder-embedding/: a tiny Qwen3 with what sentence-transformers makes of texts (last token, normalized),
and the probability of `yes` that Qwen3-Reranker's published code gets for pairs.
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

TEXTS = [
    "The cat sat on the mat.",
    "a",
    "Who ran over the moon? A dog did, as far as anybody knows.",
    "<|im_end|> is no token here",
]
QUERY = "Who sat on the mat?"
PROMPTS = {"query": "Instruct: find the answer\nQuery:", "document": ""}
MERGES = [("y", "e"), ("ye", "s"), ("n", "o"), ("t", "h"), ("th", "e"), ("\u0120", "the")]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# As published with Qwen3-Reranker.
BEFORE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the "
    'Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
)
AFTER = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


def hidden_states(families: Path) -> dict:
    found = {}
    for folder in sorted(families.iterdir()):
        kind = transformers.AutoModelForCausalLM
        if "text_config" in json.loads((folder / "config.json").read_text()):
            kind = transformers.AutoModelForImageTextToText
        model = kind.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager"
        ).eval()
        reference = json.loads((folder / "reference.json").read_text())[-1]
        with torch.no_grad():
            ids = torch.tensor([reference["ids"]])
            states = model(input_ids=ids, use_cache=False, output_hidden_states=True).hidden_states
        found[folder.name] = {
            "max_model_len": reference["max_model_len"],
            "ids": reference["ids"],
            "hidden": [float(f"{value:.6g}") for value in states[-1][0, -1].tolist()],
        }
    return found


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*alphabet, *("".join(merge) for merge in MERGES)]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    made = Tokenizer(models.BPE(vocabulary, MERGES))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL])
    end = made.token_to_id(SPECIAL[0])
    made.post_processor = processors.TemplateProcessing(
        single=f"$A {SPECIAL[0]}", special_tokens=[(SPECIAL[0], end)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token=SPECIAL[0], eos_token=SPECIAL[0], padding_side="left"
    )


def write_embedder(folder: Path) -> None:
    torch.manual_seed(0)
    shutil.rmtree(folder, ignore_errors=True)
    words = tokenizer()
    config = transformers.Qwen3Config(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        eos_token_id=words.eos_token_id,
        initializer_range=0.2,
    )
    model = transformers.Qwen3ForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    transformer = Transformer(str(folder))
    parts = [transformer, Pooling(transformer.get_embedding_dimension(), "lasttoken"), Normalize()]
    whole = SentenceTransformer(modules=parts, device="cpu", prompts=PROMPTS)
    staged = folder.with_name(f"{folder.name}-staged")
    whole.save_pretrained(str(staged), create_model_card=False)
    for name in ["modules.json", "config_sentence_transformers.json", "1_Pooling"]:
        (staged / name).rename(folder / name)
    shutil.rmtree(staged)
    whole = whole.to(torch.float32)
    causal = transformers.Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prompt = whole.encode(TEXTS, prompt_name="query")
    reference = {
        "texts": TEXTS,
        "vectors": whole.encode(TEXTS, prompt="").tolist(),
        "prompt": {"name": "query", "vectors": prompt.tolist()},
        "query": QUERY,
        # Texts with special tokens in them are left out: that code takes them for tokens.
        "documents": TEXTS[:3],
        "scores": [score(causal, words, text) for text in TEXTS[:3]],
    }
    (folder / "reference.json").write_text(json.dumps(reference))


def score(model, words, document: str) -> float:
    text = f"{BEFORE}<Query>: {QUERY}\n<Document>: {document}{AFTER}"
    ids = words(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, -1]
    pair = torch.stack([logits[words.convert_tokens_to_ids(token)] for token in ["no", "yes"]])
    return float(torch.nn.functional.log_softmax(pair, dim=0)[1].exp())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fixtures", type=Path)
    fixtures = parser.parse_args().fixtures
    torch.set_num_threads(1)
    states = hidden_states(fixtures / "families")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in states.items())
    (fixtures / "families-hidden.json").write_text(f"{{\n{lines}\n}}\n")
    write_embedder(fixtures / "decoder-embedding")


if __name__ == "__main__":
    main()
