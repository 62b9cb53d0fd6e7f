"""Tokenizers in other forms than tokenizer.json, small ones, with what their own programs make of texts.

Needs sentencepiece, tiktoken, mistral-common, tokenizers and transformers. Writes
test/fixtures/other-tokenizers.json.gz; run in the repository's root.
"""
import base64
import gzip
import json
import os
import tempfile
import unicodedata

import sentencepiece
import tiktoken
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from tokenizers import ByteLevelBPETokenizer, BertWordPieceTokenizer
from transformers import AutoTokenizer

OUT = "test/fixtures/other-tokenizers.json.gz"
TEXTS = json.loads(gzip.open("test/fixtures/pre-tokenizers.json.gz").read())[0]["texts"] + [
    " hi", "  hi", " ", "   ", "\n\n\n", "▁a", "a\t\tb", "x<0x0A>y", "日本語テスト、漢字", "e\u0301 é ﬁ ① Ⅳ ｱｲｳ",
    "🤖👨‍👩‍👧 🏳️‍🌈", "def f(x):\n    return x**2\n\n\t\tif True:\n", "1234567890 3.14", "Straße ÀÉÎ ğ İ",
    "हिन्दी में पाठ", "עברית العربية", "\U0010ffff\ue000", "don't I'LL we'Ve", "<用户>hello<AI> hi", "a  b   c    d",
]
PATTERN = json.loads('"' + r"[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+" + '"')
KIMI = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])
work = tempfile.mkdtemp()
cases = []


def case(name, files, ids, special=False):
    packed = {file: base64.b64encode(content).decode() for file, content in files.items()}
    cases.append({"name": name, "files": packed, "special": special, "ids": ids})


def settings(**fields):
    return {"tokenizer_config.json": json.dumps(fields).encode()}


corpus = os.path.join(work, "corpus.txt")
with open(corpus, "w") as file:
    file.write("\n".join(text.replace("\n", " ") for text in TEXTS * 3) + "\n")


def pieces(name, file, config, **options):
    sentencepiece.SentencePieceTrainer.train(
        input=corpus, model_prefix=f"{work}/{name}", minloglevel=2, **{"character_coverage": 0.98, "hard_vocab_limit": False, **options}
    )
    with open(f"{work}/{name}.model", "rb") as model:
        content = model.read()
    processor = sentencepiece.SentencePieceProcessor(f"{work}/{name}.model")
    # Words of tokenizer.json's Unigram are found in texts, also those that are bytes.
    known = [options["model_type"] == "bpe" or "<0x" not in text for text in TEXTS]
    ids = [processor.encode(text) if same else None for text, same in zip(TEXTS, known)]
    case(name, {file: content, **settings(**config)}, ids)


plain = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "byte_fallback": True}
llama = {"tokenizer_class": "LlamaTokenizer", "legacy": True}
pieces("bpe", "tokenizer.model", llama, model_type="bpe", vocab_size=700, **plain)
pieces("bpe-defined", "tokenizer.model", llama, model_type="bpe", vocab_size=700,
       user_defined_symbols=["<用户>", "<AI>", "hello", "\n\n", "▁▁"], **plain)
pieces("bpe-no-prefix", "tokenizer.model", {"tokenizer_class": "GemmaTokenizer"}, model_type="bpe", vocab_size=700,
       add_dummy_prefix=False, user_defined_symbols=["\n\n", "▁▁"], **plain)
pieces("unigram-bytes", "tokenizer.model", {}, model_type="unigram", vocab_size=700, **plain)
pieces("unigram-spaces", "spiece.model", {}, model_type="unigram", vocab_size=700, normalization_rule_name="identity",
       character_coverage=1.0)

# Ranks are those of merges.
trained = ByteLevelBPETokenizer()
trained.train_from_iterator(TEXTS * 3, vocab_size=600, show_progress=False)
trained.save_model(work)
with open(f"{work}/vocab.json", "rb") as a, open(f"{work}/merges.txt", "rb") as b:
    lists = {"vocab.json": a.read(), "merges.txt": b.read()}
for kind in ["GPT2Tokenizer", "Qwen2Tokenizer"]:
    folder = os.path.join(work, kind)
    os.makedirs(folder)
    files = {**lists, **settings(tokenizer_class=kind),
             "added_tokens.json": json.dumps({"<|im_end|>": 600, "    ": 601}).encode()}
    for file, content in files.items():
        with open(os.path.join(folder, file), "wb") as out:
            out.write(content)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    case(kind, files, [tokenizer.encode(text) for text in TEXTS], True)

letters = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
codes = {chr(byte): byte for byte in letters}
codes.update({chr(256 + n): byte for n, byte in enumerate(b for b in range(256) if b not in letters)})
vocabulary = sorted(trained.get_vocab().items(), key=lambda item: item[1])
tokens = [bytes(codes[letter] for letter in token) for token, _ in vocabulary]
# Tekken wants bytes in their order.
tokens = [bytes([byte]) for byte in range(256)] + [token for token in tokens if len(token) > 1]

tekken = {
    "config": {"pattern": PATTERN, "num_vocab_tokens": len(tokens), "default_vocab_size": 550,
               "default_num_special_tokens": 30, "version": "v7"},
    "vocab": [{"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
              for rank, token in enumerate(tokens)],
    "special_tokens": [{"rank": rank, "token_str": str(getattr(token["token_str"], "value", token["token_str"])),
                        "is_control": True}
                       for rank, token in enumerate(Tekkenizer.DEPRECATED_SPECIAL_TOKENS)],
}
path = os.path.join(work, "tekken.json")
with open(path, "w") as file:
    json.dump(tekken, file)
mistral = Tekkenizer.from_file(path)
case("tekken", {"tekken.json": json.dumps(tekken).encode()},
     [mistral.encode(text, bos=True, eos=False) for text in TEXTS], True)

lines = "".join(f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens))
kimi = tiktoken.Encoding("kimi", pat_str=KIMI, special_tokens={},
                         mergeable_ranks={token: rank for rank, token in enumerate(tokens)})
moonshot = {"tokenizer_class": "TikTokenTokenizer",
            "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}}
case("tiktoken", {"tiktoken.model": lines.encode(), **settings(**moonshot)},
     [kimi.encode(text, disallowed_special=()) for text in TEXTS])

# Hunyuan's own code counts ranks, without tokens that were there before.
hunyuan_pattern = "|".join([
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"[^\r\n\p{L}\p{N}]?\p{L}+", r"\p{N}", r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])
hunyuan_special = [f"<|{name}|>" for name in ["endoftext", "startoftext", "bos", "eos", "pad"]]
hunyuan_special += [f"<|extra_{number}|>" for number in range(205)]
hunyuan = tiktoken.Encoding("hunyuan", pat_str=hunyuan_pattern,
                            mergeable_ranks={token: rank for rank, token in enumerate(tokens)},
                            special_tokens={text: len(tokens) + index for index, text in enumerate(hunyuan_special)})
doubled = [*tokens[:300], tokens[299], *tokens[300:]]
lines = "".join(f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(doubled))
tencent = {"tokenizer_class": "HYTokenizer", "auto_map": {"AutoTokenizer": ["tokenization_hy.HYTokenizer", None]}}
case("hunyuan", {"hy.tiktoken": lines.encode(), **settings(**tencent)},
     [hunyuan.encode(unicodedata.normalize("NFC", text), allowed_special="all") for text in TEXTS])

words = BertWordPieceTokenizer()
words.train_from_iterator(TEXTS, vocab_size=900, show_progress=False)
listed = sorted(words.get_vocab().items(), key=lambda item: item[1])
for name, fields in [("bert", {}), ("bert-cased", {"do_lower_case": False, "tokenize_chinese_chars": False})]:
    folder = os.path.join(work, name)
    os.makedirs(folder)
    files = {"vocab.txt": ("\n".join(word for word, _ in listed) + "\n").encode(),
             **settings(tokenizer_class="BertTokenizer", **fields)}
    for file, content in files.items():
        with open(os.path.join(folder, file), "wb") as out:
            out.write(content)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    case(name, files, [tokenizer.encode(text) for text in TEXTS], True)

with open(OUT, "wb") as out:
    out.write(gzip.compress(json.dumps({"texts": TEXTS, "cases": cases}, ensure_ascii=False).encode(), mtime=0))
