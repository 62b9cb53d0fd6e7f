"""A small SentencePiece BPE vocabulary, trained on the readme, and what SentencePiece makes of texts.

Usage: python3 scripts/references/sentencepiece_bpe.py test/fixtures/sentencepiece.json
Needs: pip install sentencepiece (written with 0.2)
"""

import json
import sys
import tempfile
from pathlib import Path

import sentencepiece

TEXTS = [
    "Hello world", " two  spaces", "a continuous-batching token server", "naïve café", "tab\tand\nline\n\n",
    "你好, мир 🙂", "1234567890", "npm start -- --port 9000", "", " ", "   ", "x", "serverserverserver",
    "The quick brown fox jumps over the lazy dog.", "{\"model\": \"summit\", \"stream\": true}", "▁odd▁",
    "<0x0A> is no byte", "https://github.com/a/b?c=d", "ﬁ½Ⅷ", "streams streaming streamed  stream",
]


def main() -> None:
    vocabularies = []
    for has_prefix in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            prefix = str(Path(folder) / "spm")
            sentencepiece.SentencePieceTrainer.train(
                input="README.md", model_prefix=prefix, model_type="bpe", vocab_size=600,
                byte_fallback=True, character_coverage=0.99, normalization_rule_name="identity",
                remove_extra_whitespaces=False, add_dummy_prefix=has_prefix, minloglevel=2,
            )
            model = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
        def kind(i: int) -> int:
            return 2 if model.is_unknown(i) else 3 if model.is_control(i) else 6 if model.is_byte(i) else 1
        size = range(model.get_piece_size())
        vocabularies.append({
            "hasPrefix": has_prefix,
            "tokens": [model.id_to_piece(i) for i in size],
            "scores": [model.get_score(i) for i in size],
            "types": [kind(i) for i in size],
            "cases": [{"text": text, "ids": model.encode(text)} for text in TEXTS],
        })
    Path(sys.argv[1]).write_text(json.dumps(vocabularies, ensure_ascii=False) + "\n")


main()
