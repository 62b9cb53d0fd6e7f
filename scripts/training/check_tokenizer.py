"""Writes texts with the ids of the Python encoder, for check_tokenizer.mjs."""

import argparse
import json
from pathlib import Path
from random import Random

import tokenizer as tokenizers
from corpus import document, render

DOCUMENTS = 170
RANDOM_TEXTS = 10
HARD_TEXTS = [
    "a",
    " ",
    "\n\n\n",
    "  two  spaces  ",
    "don't we'll I'm THEY'RE it's",
    "1234567890 12.5 -3 a1b2",
    "naïve café — “quotes” … €5",
    "日本語のテキスト",
    "emoji 🙂🚡 ok",
    "tab\tand\r\nnewline \n x",
    '<tool_call>\n{"name": "x"}\n</tool_call>',
    "<|im_start|>user\nhi<|im_end|>",
    "<|im_start|><|im_start|>",
    "a<|endoftext|>b",
    "def f(x):\n    return x**2  # comment",
    "http://example.com/a?b=c&d=e#f",
    "x" * 50,
    "AaBbCc 'quoted' \"double\"",
    "½ ² ٣ Ⅷ x3",
    "end with space ",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with tokenizer.json")
    parser.add_argument("output", type=Path, help="JSON file to write")
    args = parser.parse_args()
    tokenizer = tokenizers.load(args.folder)
    rng = Random(99)
    texts = [render(document(rng)) for _ in range(DOCUMENTS)] + HARD_TEXTS
    for _ in range(RANDOM_TEXTS):
        texts.append("".join(rng.choice("abc  12\n\t.,'é<|>世{}\"") for _ in range(40)))

    samples = [{"text": text, "ids": tokenizer.encode(text)} for text in texts]
    for sample in samples:
        if tokenizer.decode(sample["ids"]) != sample["text"]:
            raise SystemExit(f"the tokenizer does not give this text back: {sample['text']!r}")
    args.output.write_text(json.dumps(samples, ensure_ascii=False), encoding="utf-8")
    print(f"{len(samples)} texts round-trip in Python")


if __name__ == "__main__":
    main()
