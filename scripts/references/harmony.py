"""What openai-harmony reads in answers of gpt-oss: writes test/fixtures/harmony.json.

pip install openai-harmony; it loads its vocabulary by itself.
"""

import json
import pathlib

from openai_harmony import (
    Author,
    Conversation,
    HarmonyEncodingName,
    Message,
    RenderConversationConfig,
    Role,
    load_harmony_encoding,
)

ENCODING = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
START = "<|start|>assistant"


def said(channel, text, recipient=None, content_type=None):
    message = Message.from_role_and_content(Role.ASSISTANT, text).with_channel(channel)
    if recipient:
        message = message.with_recipient(recipient)
    return message.with_content_type(content_type) if content_type else message


def call(name, arguments):
    return said("commentary", arguments, f"functions.{name}", "<|constrain|>json")


TURNS = [
    [said("final", "Hello, Zoë 😀.")],
    [said("analysis", "Hm. a < b"), said("final", "Hello.\n\nTwo lines <|x|>.")],
    [said("analysis", "I need the weather."), call("get_weather", '{"city": "Oslo", "days": [1, {"a": "}<"}]}')],
    [said("analysis", "First."), said("commentary", "I will look."), call("get_weather", '{"city":"Zürich"}')],
    [call("now", "{}")],
    [said("analysis", "One."), said("analysis", "Two."), said("final", "Three.")],
    [said("analysis", "x = 1", "python", "code")],
    [said("final", "")],
]

# As models write them as well.
TEXTS = [
    " to=functions.get_weather<|channel|>commentary json<|message|>{\"city\": \"Oslo\"}<|call|>",
    "<|channel|>commentary to=functions.get_weather<|message|>{\"city\": \"Oslo\"}<|call|>",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.now<|channel|>commentary <|constrain|>json<|message|>{}<|call|>",
    "<|channel|>analysis<|message|>Cut off",
    "<|channel|>final<|message|>Cut off",
]


def parsed(text):
    tokens = ENCODING.encode(text, allowed_special="all")
    messages = ENCODING.parse_messages_from_completion_tokens(tokens, Role.ASSISTANT)
    return [
        {
            "channel": message.channel,
            "recipient": message.recipient,
            "text": "".join(part.text for part in message.content),
        }
        for message in messages
    ]


def main():
    texts = []
    for turn in TURNS:
        tokens = ENCODING.render_conversation_for_training(
            Conversation.from_messages(turn), RenderConversationConfig(auto_drop_analysis=False)
        )
        text = ENCODING.decode(tokens)
        assert text.startswith(START), text
        texts.append(text.removeprefix(START))
    cases = [{"text": text, "messages": parsed(text)} for text in texts + TEXTS]
    target = pathlib.Path(__file__).parents[2] / "test/fixtures/harmony.json"
    target.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


main()
