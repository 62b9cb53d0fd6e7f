"""Official and much-used clients in Python, by what once did not work with them.

    python3 -m venv clients && clients/bin/pip install 'litellm==1.105.3' ...   (as in .ci/run)
    npm run build && clients/bin/python test/clients/python.py [PACKAGE...]

All packages if none is named. Prints what it did; what is not as it should be ends it with an error.
"""

import asyncio
import json
import os
import sys

from served import ROOT, served, tell

# What it would ask of the network at its start is in its package too.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

MODEL = "summit"
QUESTION = [{"role": "user", "content": "What is 23 + 45?"}]
SCHEMA = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}
ADD = {
    "name": "add",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}


def litellm(base):
    """Its Ollama providers send JSON with no media type, or another."""
    import litellm

    for provider in ["ollama_chat", "ollama"]:
        asked = {"model": f"{provider}/{MODEL}", "api_base": base, "messages": QUESTION}
        asked |= {"temperature": 0, "max_tokens": 32}
        whole = litellm.completion(**asked).choices[0].message.content
        tell(f"litellm {provider}", repr(whole))
        assert "68" in whole, whole
        later = asyncio.run(litellm.acompletion(**asked)).choices[0].message.content
        assert later == whole, later
        pieces = [chunk.choices[0].delta.content or "" for chunk in litellm.completion(**asked, stream=True)]
        tell(f"litellm {provider}, streamed", f"{len(pieces)} pieces")
        assert "".join(pieces) == whole and len(pieces) > 2, pieces


def anthropic(base):
    from anthropic import Anthropic
    from pydantic import BaseModel

    class Answer(BaseModel):
        x: int

    client = Anthropic(base_url=base, api_key="none")
    asked = {"model": MODEL, "max_tokens": 64, "messages": QUESTION}
    parsed = client.messages.parse(**asked, output_format=Answer).parsed_output
    tell("anthropic parse", parsed)
    assert isinstance(parsed, Answer)
    output_config = {"format": {"type": "json_schema", "schema": SCHEMA}}
    answer = client.messages.create(**asked, output_config=output_config)
    tell("anthropic output_config", answer.content[0].text)
    assert isinstance(json.loads(answer.content[0].text)["x"], int)
    within = [*QUESTION, {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say it."}]
    answer = client.messages.create(model=MODEL, max_tokens=16, messages=within)
    tell("anthropic system message within", repr(answer.content[0].text))


def huggingface_hub(base):
    """It sends a schema as `value` beside `json_object`."""
    from huggingface_hub import InferenceClient

    response_format = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    client = InferenceClient(base_url=f"{base}/v1", api_key="none")
    answer = client.chat_completion(QUESTION, model=MODEL, response_format=response_format, max_tokens=64)
    text = answer.choices[0].message.content
    tell("huggingface_hub response_format", text)
    assert list(json.loads(text)) == ["x"]


def openai(base):
    from openai import OpenAI

    client = OpenAI(base_url=f"{base}/v1", api_key="none")
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "add"}}]}
    other = {"name": "today", "parameters": {"type": "object", "properties": {}}}
    answer = client.chat.completions.create(
        model=MODEL,
        messages=QUESTION,
        tools=[{"type": "function", "function": tool} for tool in [other, ADD]],
        tool_choice={"type": "allowed_tools", "allowed_tools": allowed},
        max_tokens=64,
    )
    calls = [call.function for call in answer.choices[0].message.tool_calls]
    tell("openai allowed_tools", calls)
    assert {call.name for call in calls} == {"add"}
    response = client.responses.create(model=MODEL, input=QUESTION, max_tool_calls=2, max_output_tokens=32)
    tell("openai max_tool_calls", response.max_tool_calls)
    assert response.max_tool_calls == 2 and response.output_text


def cohere(base):
    from cohere import ClientV2
    from cohere.core.api_error import ApiError

    client = ClientV2(api_key="none", base_url=base)
    asked = {"query": "Who sings?", "documents": ["A bird sings.", "It rains."]}
    results = client.rerank(model=MODEL, **asked).results
    tell("cohere rerank", [(result.index, round(result.relevance_score, 3)) for result in results])
    assert {result.index for result in results} == {0, 1}
    try:
        client.rerank(model="sumit", **asked)
        raise AssertionError("an unknown model was served")
    except ApiError as error:
        body = error.body if isinstance(error.body, dict) else error.body.dict()
        tell("cohere unknown model", f"{error.status_code} {body}")
        assert error.status_code == 404 and "sumit" in body["message"], body


def instructor(base):
    """Answers of a type, by a forced call and by a schema, streamed too."""
    import instructor
    from openai import OpenAI
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    question = "Give me a JSON object with name and age for a person: Mia, who is 31 years old."
    asked = {"model": MODEL, "messages": [{"role": "user", "content": question}], "max_tokens": 64}
    asked |= {"response_model": Person, "max_retries": 0, "temperature": 0}
    for mode in [instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA]:
        client = instructor.from_openai(OpenAI(base_url=f"{base}/v1", api_key="none"), mode=mode)
        person = client.create(**asked)
        tell(f"instructor {mode.name}", person)
        assert isinstance(person, Person)
        *before, last = client.create_partial(**asked)
        tell(f"instructor {mode.name}, streamed", f"{last} after {len(before)} parts of it")
        assert isinstance(last.name, str) and isinstance(last.age, int) and before, last


def dspy(base):
    """Its own way to a model: the embedded one is too small for its prompts."""
    import dspy

    lm = dspy.LM(f"openai/{MODEL}", api_base=f"{base}/v1", api_key="none", cache=False, max_tokens=64)
    [text] = lm(QUESTION[0]["content"], temperature=0)
    tell("dspy", repr(text))
    assert "68" in text, text
    response_format = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    [text] = lm(QUESTION[0]["content"], response_format=response_format)
    tell("dspy response_format", text)
    assert list(json.loads(text)) == ["x"]


CLIENTS = [litellm, anthropic, huggingface_hub, openai, cohere, instructor, dspy]


def main():
    wanted = sys.argv[1:] or [client.__name__ for client in CLIENTS]
    with served("--model-repository", str(ROOT / "models"), "--log-level", "error") as (http, _grpc):
        for client in CLIENTS:
            if client.__name__ in wanted:
                client(f"http://{http}")


if __name__ == "__main__":
    sys.exit(main())
