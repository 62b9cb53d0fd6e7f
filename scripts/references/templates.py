"""What Transformers makes of conversations by well-known chat templates: writes conversations.json and
rendered.json into a folder of .jinja files, test/fixtures/templates unless another is named.

pip install transformers jinja2. Messages are in the form that Chairlift gives them: contents are texts,
arguments objects (text for templates that write them as they are), a thought goes by all its names.
"""

import datetime
import hashlib
import json
import pathlib
import sys

from transformers.utils import chat_template_utils

TOKENS = {"bos_token": "<|BOS|>", "eos_token": "<|EOS|>", "unk_token": "<|UNK|>", "pad_token": "<|PAD|>"}
NUM_CONVERSATIONS = 50


class Noon(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 2, 12, 0, 0)


chat_template_utils.datetime = Noon

TEXTS = [
    "Hello!",
    "  Leading and trailing  ",
    "Two\nlines\n",
    "\n\nBlank before",
    "Zürich 😀 “quoted” 你好 \u00a0nbsp",
    "a < b && c > d; \"q\" 'p' \\ back\\slash",
    "{{ not a template }} {% raw %}",
    "<b>bold</b> </div>",
    "1. one\n2. two\n\n```py\nprint('x')\n```",
    "",
    "tab\there",
    "A sentence with <think>a thought</think> in it",
]
SYSTEMS = ["Be brief.", "You are Zoë.\nSpeak  plainly.\n", "", "Rules:\n- one\n- two"]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city, \"now\".\nIn degrees.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Its name, e.g. Zürich"},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
                    "days": {"type": "integer", "minimum": 1, "maximum": 7},
                    "at": {
                        "type": "object",
                        "description": "Where",
                        "properties": {"lat": {"type": "number"}, "on": {"type": "boolean"}},
                        "required": ["lat"],
                    },
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}},
    },
]
ARGUMENTS = [
    {"city": "Oslo"},
    {"city": "Zürich \"old\" town", "days": 3, "at": {"lat": 0.5, "on": True}, "tags": ["a", "b\nc"]},
    {"city": "a<b>&", "unit": "celsius", "on": False, "none": None, "list": [1, [2, {"x": "y"}]]},
    {},
]


def thought(text, content):
    names = {"reasoning_content": text, "reasoning": text}
    return {**names, "thinking": text} if content == "" else names


def call(index, arguments, name="get_weather"):
    return {"id": f"call{index:05d}", "type": "function", "function": {"name": name, "arguments": arguments}}


def result(index, content, name="get_weather"):
    return {"role": "tool", "tool_call_id": f"call{index:05d}", "name": name, "content": content}


def conversation(number):
    text = lambda offset: TEXTS[(number * 5 + offset) % len(TEXTS)]
    kind = number % 10
    messages = []
    if number % 3 != 0:
        messages.append({"role": "system", "content": SYSTEMS[number % len(SYSTEMS)]})
    messages.append({"role": "user", "content": text(0)})
    options = {"add_generation_prompt": number % 4 != 3}
    if kind in (1, 2, 6):
        messages.append({"role": "assistant", "content": text(1)})
        messages.append({"role": "user", "content": text(2)})
    if kind in (2, 8):
        content = text(3)
        messages.append({"role": "assistant", "content": content, **thought("I think.\nSo.", content)})
        messages.append({"role": "user", "content": text(4)})
    if kind in (3, 4, 5):
        options["tools"] = True
        count = 2 if kind == 4 else 1
        said = "" if number % 2 else "I look."
        calls = [call(index, ARGUMENTS[(number + index) % len(ARGUMENTS)]) for index in range(count)]
        asks = {"role": "assistant", "content": said, "tool_calls": calls}
        if kind == 5:
            asks |= thought("Hm, the weather.", said)
        messages.append(asks)
        messages += [result(index, text(6 + index) or "sun") for index in range(count)]
        if number % 2 == 0:
            messages.append({"role": "assistant", "content": "It is sunny."})
            messages.append({"role": "user", "content": text(8)})
    if kind == 7:
        options["tools"] = True
    if kind == 9:
        messages.append({"role": "assistant", "content": "The answer is" + ("  " if number % 4 == 1 else "")})
        options = {"add_generation_prompt": False, "continue_final_message": True}
    if kind in (0, 6, 7) and number % 2 == 0:
        options["variables"] = {"enable_thinking": number % 4 == 0, "thinking": number % 4 == 0}
    return {"messages": messages, **options}


CONVERSATIONS = [conversation(number) for number in range(NUM_CONVERSATIONS)]


def with_text(messages):
    """Arguments as JSON text, as JavaScript writes it."""

    def as_text(each):
        text = json.dumps(each["function"]["arguments"], ensure_ascii=False, separators=(",", ":"))
        return {**each, "function": {**each["function"], "arguments": text}}

    return [
        {**message, "tool_calls": [as_text(each) for each in message["tool_calls"]]} if "tool_calls" in message else message
        for message in messages
    ]


def with_parts(messages):
    return [{**message, "content": [{"type": "text", "text": message["content"]}] if message["content"] else []} for message in messages]


def render(template, chat, style):
    messages = chat["messages"]
    if style["argumentsAsText"]:
        messages = with_text(messages)
    if style["textAsParts"]:
        messages = with_parts(messages)
    prompts, _ = chat_template_utils.render_jinja_template(
        conversations=[messages],
        chat_template=template,
        tools=TOOLS if chat.get("tools") else None,
        add_generation_prompt=chat["add_generation_prompt"],
        continue_final_message=chat.get("continue_final_message", False),
        **TOKENS,
        **chat.get("variables", {}),
    )
    return prompts[0]


def digest(template, chat, style, texts):
    try:
        text = render(template, chat, style)
    except Exception as error:
        texts.append(f"refused: {error}")
        return None
    texts.append(text)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def main(folder):
    styles = json.loads((folder / "styles.json").read_text())
    rendered = {}
    whole = {}
    for path in sorted(folder.glob("*.jinja")):
        style = {"argumentsAsText": False, "textAsParts": False, **styles.get(path.stem, {})}
        texts = whole[path.stem] = []
        rendered[path.stem] = [digest(path.read_text(), chat, style, texts) for chat in CONVERSATIONS]
    write = lambda name, value: (folder / name).write_text(json.dumps(value, ensure_ascii=False) + "\n")
    write("conversations.json", {"tokens": TOKENS, "tools": TOOLS, "conversations": CONVERSATIONS})
    write("rendered.json", rendered)
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(whole))
    refused = sum(each.count(None) for each in rendered.values())
    print(f"{len(rendered)} templates, {len(CONVERSATIONS)} conversations, {refused} refused")


main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "test/fixtures/templates"))
