"""Tokenizers in other forms than tokenizer.json, with the tokens that their own programs give:

    python scripts/references/other_tokenizers.py tekken.json test/fixtures/tokenizers/references.json

tekken.json is one of Mistral's, such as mistral-common has in its `data`; a part of its vocabulary is kept. Needs
mistral-common, tiktoken, tokenizers and transformers.
"""

import base64
import json
import sys
import tempfile
from pathlib import Path

import tiktoken
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import AutoTokenizer

RANKS = 900
WORDS = "the quick brown fox isn't 12345 done; naïve Ünïcödé  spaces\tand\n\nlines λόγος привет мир こんにちは 世界 漢字 🙂👍🏽"
TEXTS = [
    "", "a", "Hello, world!", "HelloWorld fooBar HTTPServer", "I'm you're WE'LL", "1 22 333 4444 3.14 1,000,000",
    "x = [1, 2];\n\treturn x  # done\n\n\n", "e\u0301 \u00e9 \u1e9e \u01c5 \u02b0", "العربية हिन्दी ไทย 한국어", "\u00a0\u3000\u200b\ufeff",
    "<s>[INST]</s>", "中文和English混合123", "https://example.com/a?b=c&d=%20", "\r\n\r\n  \r x", WORDS, WORDS.upper(),
    *[" " * n for n in (1, 2, 3, 7, 16, 33, 64)], *["=" * n for n in (2, 5, 17, 40)], *["\n" * n + "x" for n in (1, 2, 5)],
    *["a" * n for n in (3, 4, 5, 9, 23)], *["ab " * n for n in (2, 9)],
]
# Moonshot's tokenization_moonshot.py
KIMI = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])

SPECIAL = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
           "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]",
           "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"]
LATER = ["[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"]

TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Tells a city's \"weather\" (°C)",
          "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
SYSTEM = {"role": "system", "content": "Be brief. "}
USER = {"role": "user", "content": "What's the weather in Köln? "}
BYE = {"role": "user", "content": "Thanks,\nbye"}
ANSWER = {"role": "assistant", "content": "It rains.  "}
CALLS = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "abc123def", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Köln"}'}},
    {"id": "ghi456jkl", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bonn", "days": [1, 2]}'}},
]}
ONE = {**CALLS, "tool_calls": CALLS["tool_calls"][:1]}
RESULT = {"role": "tool", "tool_call_id": "abc123def", "name": "weather", "content": '{"sky": "grey", "c": 4}'}
SECOND = {"role": "tool", "tool_call_id": "ghi456jkl", "name": "weather", "content": "it's dry"}
CHATS = [
    ([USER], None), ([SYSTEM, USER], None), ([USER, ANSWER, BYE], None), ([SYSTEM, USER, ANSWER, BYE], None),
    ([SYSTEM, USER], TOOLS), ([USER, ANSWER, BYE], TOOLS), ([USER, ONE, RESULT], TOOLS),
    ([SYSTEM, USER, CALLS, RESULT, SECOND], TOOLS), ([SYSTEM, USER, CALLS, RESULT, SECOND, ANSWER, BYE], TOOLS),
]


def tekken(published, folder):
    vocab = [{"rank": v["rank"], "token_bytes": v["token_bytes"], "token_str": v["token_str"]} for v in published["vocab"][:RANKS]]
    base = {"pattern": published["config"]["pattern"], "num_vocab_tokens": RANKS, "default_vocab_size": RANKS + 40,
            "default_num_special_tokens": 40}
    versions = {}
    for version in ("v3", "v7", "v11", "v13"):
        names = SPECIAL + (LATER if version in ("v11", "v13") else [])
        special = None if version == "v3" else [{"rank": i, "token_str": s, "is_control": True} for i, s in enumerate(names)]
        path = folder / "tekken.json"
        path.write_text(json.dumps({"config": {**base, "version": version}, "vocab": vocab, "special_tokens": special}))
        chats = []
        for messages, tools in CHATS:
            request = ChatCompletionRequest(messages=messages, tools=tools)
            tokens = MistralTokenizer.from_file(str(path)).encode_chat_completion(request).tokens
            chats.append({"messages": messages, "tools": tools, "ids": tokens})
        versions[version] = {"special": special, "chats": chats}
    plain = Tekkenizer.from_file(path)
    ids = [plain.encode(text, bos=False, eos=False) for text in TEXTS]
    return {"config": base, "ranked": [v["token_bytes"] for v in vocab], "ids": ids, "versions": versions}


def kimi(ranked):
    ranks = {base64.b64decode(token): rank for rank, token in enumerate(ranked)}
    encoding = tiktoken.Encoding("kimi", pat_str=KIMI, mergeable_ranks=ranks, special_tokens={})
    return [encoding.encode(text, disallowed_special=()) for text in TEXTS]


def listed(folder, name, config):
    special = ["<pad>", "</s>", "<unk>"] if name == "GPT2Tokenizer" else []
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(TEXTS * 3, trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, special_tokens=special))
    tokenizer.model.save(str(folder))
    size = tokenizer.get_vocab_size()
    added = {} if special else {
        str(size + i): {"content": c, "special": True, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
        for i, c in enumerate(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    }
    config = {"tokenizer_class": name, **config, "added_tokens_decoder": added}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    auto = AutoTokenizer.from_pretrained(folder)
    texts = TEXTS + ["a</s>b<pad>", "x<|im_end|>\ny"]
    return {"config": config, "vocab": json.loads((folder / "vocab.json").read_text()), "merges": (folder / "merges.txt").read_text(),
            "texts": texts, "ids": [auto(text, add_special_tokens=False)["input_ids"] for text in texts]}


def main():
    published = json.loads(Path(sys.argv[1]).read_text())
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two, tempfile.TemporaryDirectory() as three:
        result = {"texts": TEXTS, "tekken": tekken(published, Path(one))}
        result["kimi"] = kimi(result["tekken"]["ranked"])
        result["gpt2"] = listed(Path(two), "GPT2Tokenizer", {"bos_token": "</s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"})
        result["qwen2"] = listed(Path(three), "Qwen2Tokenizer", {"bos_token": None, "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"})
    Path(sys.argv[2]).write_text(json.dumps(result, ensure_ascii=False) + "\n")


main()
