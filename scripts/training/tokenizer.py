"""Byte-level BPE: a trainer, an encoder, and the export as a Hugging Face tokenizer.

    python3 tokenizer.py .cache/training/tokenizer

trains on documents of the corpus and writes tokenizer.json, tokenizer_config.json and
special_tokens_map.json.
"""

import argparse
import heapq
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import regex

from chat_template import CHAT_TEMPLATE
from corpus import document, render

VOCABULARY_SIZE = 4096
CONTROL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TAGS = [
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<tools>",
    "</tools>",
]
ADDED_TOKENS = CONTROL_TOKENS + TAGS
BOS, EOS, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
EOS_ID = ADDED_TOKENS.index(EOS)

MAX_CACHED_WORDS = 500_000

# GPT-2's words
_WORD = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
_DIGIT = regex.compile(r"(\p{N})")
_ADDED_TOKEN = regex.compile("(" + "|".join(regex.escape(token) for token in ADDED_TOKENS) + ")")

Merge = tuple[str, str]


def _byte_alphabet() -> dict[int, str]:
    """GPT-2's printable character for each byte."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    alphabet = {}
    next_code = 256
    for byte in range(256):
        if byte in printable:
            alphabet[byte] = chr(byte)
        else:
            alphabet[byte] = chr(next_code)
            next_code += 1
    return alphabet


_BYTE_TO_CHARACTER = _byte_alphabet()
_CHARACTER_TO_BYTE = {character: byte for byte, character in _BYTE_TO_CHARACTER.items()}


def _words(text: str) -> Iterator[str]:
    """Digits one by one, and GPT-2's words between them (as Digits and ByteLevel do)."""
    for piece in _DIGIT.split(text):
        if piece:
            yield from _WORD.findall(piece)


def _symbols(word: str) -> list[str]:
    return [_BYTE_TO_CHARACTER[byte] for byte in word.encode()]


def _merged(symbols: list[str], pair: Merge) -> list[str]:
    """The symbols with every occurrence of the pair joined, from left to right."""
    joined = []
    i = 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            joined.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            joined.append(symbols[i])
            i += 1
    return joined


def train(texts: Iterable[str], size: int) -> tuple[list[str], list[Merge]]:
    """Learns a vocabulary of `size` tokens: (tokens in the order of their ids, merges)."""
    word_counts: Counter[str] = Counter()
    for text in texts:
        for part in _ADDED_TOKEN.split(text):
            if part and part not in ADDED_TOKENS:
                word_counts.update(_words(part))
    words = [_symbols(word) for word in word_counts]
    frequencies = list(word_counts.values())
    vocabulary = ADDED_TOKENS + sorted(_CHARACTER_TO_BYTE)
    merges = []

    pair_counts: Counter[Merge] = Counter()
    words_with: defaultdict[Merge, set[int]] = defaultdict(set)
    for index, word in enumerate(words):
        for pair in zip(word, word[1:]):
            pair_counts[pair] += frequencies[index]
            words_with[pair].add(index)
    heap = [(-count, pair) for pair, count in pair_counts.items()]
    heapq.heapify(heap)

    while len(vocabulary) < size:
        pair = _pop_most_frequent(heap, pair_counts)
        merges.append(pair)
        vocabulary.append(pair[0] + pair[1])
        changed = set()
        for index in words_with[pair]:
            before, frequency = words[index], frequencies[index]
            after = words[index] = _merged(before, pair)
            for old in zip(before, before[1:]):
                pair_counts[old] -= frequency
            for new in zip(after, after[1:]):
                pair_counts[new] += frequency
                words_with[new].add(index)
                changed.add(new)
        pair_counts[pair] = 0
        for new in changed:
            heapq.heappush(heap, (-pair_counts[new], new))
    return vocabulary, merges


def _pop_most_frequent(heap: list[tuple[int, Merge]], pair_counts: Counter[Merge]) -> Merge:
    """Pops the most frequent pair; entries whose count has changed go back with the new one."""
    while True:
        negative_count, pair = heapq.heappop(heap)
        if pair_counts[pair] == -negative_count:
            return pair
        if pair_counts[pair] > 0:
            heapq.heappush(heap, (-pair_counts[pair], pair))


class Tokenizer:
    """Encodes and decodes; `vocabulary` holds the tokens in the order of their ids."""

    def __init__(self, vocabulary: list[str], merges: list[Merge]) -> None:
        self.vocabulary = vocabulary
        self.merges = merges
        self.ids = {token: index for index, token in enumerate(vocabulary)}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._cache: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """The token ids of a text; the added tokens are recognized within it."""
        ids = []
        for part in _ADDED_TOKEN.split(text):
            if part in ADDED_TOKENS:
                ids.append(self.ids[part])
            else:
                for word in _words(part):
                    ids += self._encode_word(word)
        return ids

    def decode(self, ids: Iterable[int], skip_control: bool = False) -> str:
        """The text of token ids, without the control tokens if so wished."""
        data = b""
        for token_id in ids:
            token = self.vocabulary[token_id]
            if token_id >= len(ADDED_TOKENS):
                data += bytes(_CHARACTER_TO_BYTE[character] for character in token)
            elif not skip_control or token not in CONTROL_TOKENS:
                data += token.encode()
        return data.decode("utf-8", "replace")

    def _encode_word(self, word: str) -> list[int]:
        ids = self._cache.get(word)
        if ids is None:
            ids = [self.ids[symbol] for symbol in self._merge_all(_symbols(word))]
            if len(self._cache) < MAX_CACHED_WORDS:
                self._cache[word] = ids
        return ids

    def _merge_all(self, symbols: list[str]) -> list[str]:
        while True:
            known = [pair for pair in zip(symbols, symbols[1:]) if pair in self._ranks]
            if not known:
                return symbols
            symbols = _merged(symbols, min(known, key=self._ranks.__getitem__))


def load(folder: Path) -> Tokenizer:
    """Reads tokenizer.json from a folder."""
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    vocabulary = sorted(model["vocab"], key=model["vocab"].get)
    first_and_second = (merge.split(" ") for merge in model["merges"])
    return Tokenizer(vocabulary, [(first, second) for first, second in first_and_second])


def write_json(path: Path, value: object) -> None:
    """Writes JSON in the layout that all files of a model folder have."""
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    path.write_text(text, encoding="utf-8")


def export(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes the tokenizer in the Hugging Face format."""
    folder.mkdir(parents=True, exist_ok=True)
    added = {
        index: {
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": token in CONTROL_TOKENS,
        }
        for index, token in enumerate(ADDED_TOKENS)
    }
    named_tokens = {"bos_token": BOS, "eos_token": EOS, "pad_token": PAD, "unk_token": PAD}
    tokenizer_json = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": index, **token} for index, token in added.items()],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                {
                    "type": "ByteLevel",
                    "add_prefix_space": False,
                    "trim_offsets": True,
                    "use_regex": True,
                },
            ],
        },
        "post_processor": None,
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": True,
            "trim_offsets": True,
            "use_regex": True,
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": tokenizer.ids,
            "merges": [" ".join(pair) for pair in tokenizer.merges],
        },
    }
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": False,
        "add_bos_token": False,
        **named_tokens,
        "additional_special_tokens": [BOS, EOS],
        "clean_up_tokenization_spaces": False,
        "model_max_length": 2048,
        "added_tokens_decoder": {str(index): token for index, token in added.items()},
        "chat_template": CHAT_TEMPLATE,
    }
    write_json(folder / "tokenizer.json", tokenizer_json)
    write_json(folder / "tokenizer_config.json", tokenizer_config)
    special_tokens_map = {**named_tokens, "additional_special_tokens": [BOS, EOS]}
    write_json(folder / "special_tokens_map.json", special_tokens_map)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the tokenizer on documents of the corpus.")
    parser.add_argument("folder", type=Path, help="folder for the tokenizer's files")
    parser.add_argument(
        "--documents",
        type=int,
        default=16000,
        help="documents to train on (default: 16000, as for the released models)",
    )
    args = parser.parse_args()
    started = time.time()
    rng = Random(1)
    texts = [render(document(rng)) for _ in range(args.documents)]
    vocabulary, merges = train(texts, VOCABULARY_SIZE)
    tokenizer = Tokenizer(vocabulary, merges)
    export(tokenizer, args.folder)

    sample = texts[:2000]
    encoded = [tokenizer.encode(text) for text in sample]
    for text, ids in zip(sample, encoded):
        if tokenizer.decode(ids) != text:
            raise SystemExit(f"the tokenizer does not give this text back: {text!r}")
    tokens = sum(map(len, encoded))
    characters = sum(map(len, sample))
    print(
        f"{len(vocabulary)} tokens, {characters / tokens:.2f} characters per token,"
        f" {tokens / len(sample):.0f} tokens per document, {time.time() - started:.1f} s"
    )


if __name__ == "__main__":
    main()
