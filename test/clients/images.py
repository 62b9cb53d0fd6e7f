"""Clients in Python send an image, and stream the answer: each as its own documentation does it.

    npm run build && clients/bin/python test/clients/images.py [PACKAGE...]

All packages if none is named; see python.py. The model is a tiny one that sees, so the answer makes no sense:
it has to be the same for all.
"""

import base64
import sys

from served import ROOT, served, tell

MODEL = "smolvlm"
FIXTURES = ROOT / "test/fixtures/vision"
IMAGE = FIXTURES / "images/wide.png"
QUESTION = "What is it?"


def data():
    return base64.b64encode(IMAGE.read_bytes()).decode()


def openai(base):
    from openai import OpenAI

    client = OpenAI(base_url=f"{base}/v1", api_key="none")
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data()}"}}
    content = [image, {"type": "text", "text": QUESTION}]
    stream = client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": content}],
        temperature=0,
        max_tokens=12,
        stream=True,
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def anthropic(base):
    from anthropic import Anthropic

    client = Anthropic(base_url=base, api_key="none")
    source = {"type": "base64", "media_type": "image/png", "data": data()}
    content = [{"type": "image", "source": source}, {"type": "text", "text": QUESTION}]
    asked = {"model": MODEL, "max_tokens": 12, "messages": [{"role": "user", "content": content}]}
    with client.messages.stream(**asked, extra_body={"temperature": 0}) as stream:
        return "".join(stream.text_stream)


def ollama(base):
    from ollama import Client

    message = {"role": "user", "content": QUESTION, "images": [str(IMAGE)]}
    options = {"temperature": 0, "num_predict": 12, "repeat_penalty": 1}
    stream = Client(host=base).chat(model=MODEL, messages=[message], options=options, stream=True)
    return "".join(piece.message.content or "" for piece in stream)


CLIENTS = [openai, anthropic, ollama]


def main():
    wanted = sys.argv[1:] or [client.__name__ for client in CLIENTS]
    if not any(client.__name__ in wanted for client in CLIENTS):
        return tell("none of the clients is here", [client.__name__ for client in CLIENTS])
    with served("--model", str(FIXTURES / MODEL), "--precision", "fp32", "--log-level", "error") as (http, _grpc):
        answers = {}
        for client in CLIENTS:
            if client.__name__ in wanted:
                answers[client.__name__] = client(f"http://{http}")
                tell(f"{client.__name__}, an image", repr(answers[client.__name__]))
        assert answers and all(answers.values()) and len(set(answers.values())) == 1, answers


if __name__ == "__main__":
    sys.exit(main())
