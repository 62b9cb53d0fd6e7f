"""The official OpenAI client for Python: a streamed chat, then several questions at once."""

import asyncio
import os

from openai import AsyncOpenAI, OpenAI

model = os.environ.get("CHAIRLIFT_CLIENT_MODEL", "summit")
server = {
    "base_url": os.environ.get("CHAIRLIFT_URL", "http://127.0.0.1:8000") + "/v1",
    "api_key": os.environ.get("CHAIRLIFT_CLIENT_API_KEY", "none"),
}

stream = OpenAI(**server).chat.completions.create(
    model=model,
    messages=[{"role": "user", "content": "Tell me a story about a fox."}],
    max_completion_tokens=120,
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="", flush=True)
print("\n")


async def ask(client: AsyncOpenAI, question: str) -> str:
    messages = [{"role": "user", "content": question}]
    answer = await client.chat.completions.create(model=model, messages=messages)
    return answer.choices[0].message.content or ""


async def main() -> None:
    # These run together: the server works on all of them at every step.
    async with AsyncOpenAI(**server) as client:
        questions = [f"What is {n} + {10 * n}?" for n in range(1, 5)]
        for answer in await asyncio.gather(*(ask(client, question) for question in questions)):
            print(answer)


asyncio.run(main())
