"""A small vocabulary in the form of Gemma 4's, trained on the readme, and what Hugging Face's tokenizers makes of texts.

Usage: python3 scripts/references/gemma4_bpe.py test/fixtures/gemma4-bpe.json
Needs: pip install tokenizers (written with 0.22)
"""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

TEXTS = [
    "Hello world", " two  spaces", "a continuous-batching token server", "naïve café", "tab\tand\nline\n\n",
    "你好, мир 🙂", "1234567890", "npm start -- --port 9000", "", " ", "   ", "x", "serverserverserver",
    "The quick brown fox jumps over the lazy dog.", "{\"model\": \"summit\", \"stream\": true}", "\n\n\n",
    "<0x0A> is no byte", "https://github.com/a/b?c=d", "ﬁ½Ⅷ", "a\n  b\n\n c", "<|turn>user\nHi<turn|>\n",
]
SPECIAL = ["<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>"]


def main() -> None:
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    # Words do not end merges: lines are one piece, as those of a normalized text are.
    trained = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    trained.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=[*SPECIAL, *bytes_, "\n\n", "\n\n\n"], show_progress=False
    )
    trained.train_from_iterator(Path("README.md").read_text().splitlines(keepends=True), trainer)
    stated = json.loads(trained.to_str())
    # Bytes and lines are text, and lines are merged.
    stated["added_tokens"] = [each for each in stated["added_tokens"] if each["content"] in SPECIAL]
    stated["model"]["merges"] = [["\n", "\n"], ["\n\n", "\n"], *stated["model"]["merges"]]
    tokenizer = Tokenizer.from_str(json.dumps(stated))
    vocabulary = tokenizer.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.get)
    kinds = {**dict.fromkeys(SPECIAL, 3), **dict.fromkeys(bytes_, 6)}
    result = {
        "tokens": tokens,
        "types": [kinds.get(token, 1) for token in tokens],
        "merges": [" ".join(pair) for pair in stated["model"]["merges"]],
        "cases": [{"text": text, "ids": tokenizer.encode(text).ids} for text in TEXTS],
    }
    Path(sys.argv[1]).write_text(json.dumps(result, ensure_ascii=False) + "\n")


main()
