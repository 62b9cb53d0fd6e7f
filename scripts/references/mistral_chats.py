"""Chats as mistral-common writes them, by the version of a tekken.json, with a part of its vocabulary:

    python scripts/references/mistral_chats.py tekken.json test/fixtures/mistral-chats.json

tekken.json is one of Mistral's, such as mistral-common has in its `data`. Needs mistral-common.
"""

import json
import sys
import tempfile
from pathlib import Path

from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

RANKS = 900
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
    return {"config": base, "ranked": [v["token_bytes"] for v in vocab], "versions": versions}


def main():
    published = json.loads(Path(sys.argv[1]).read_text())
    with tempfile.TemporaryDirectory() as folder:
        result = tekken(published, Path(folder))
    Path(sys.argv[2]).write_text(json.dumps(result, ensure_ascii=False) + "\n")


main()
