"""Loops of agents as libraries in Python have them, with tools that work on files here.

    python3 test/clients/agent_loops.py openai_agents http://127.0.0.1:8000/v1 MODEL 'Write a.txt.'

Streams, and prints the last answer. Run by test/clients/agents.test.ts.
"""

import asyncio
import sys
from pathlib import Path

INSTRUCTIONS = "You edit files. Look before you change anything. " * 40


def write_file(path: str, text: str) -> str:
    """Write a file."""
    Path(path).write_text(text)
    return "written"


def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


def edit_file(path: str, old: str, new: str) -> str:
    """Replace a part of a file."""
    Path(path).write_text(Path(path).read_text().replace(old, new))
    return "changed"


TOOLS = [write_file, read_file, edit_file]


async def openai_agents(base, model, task):
    """Over /v1/responses; its traces would go to OpenAI."""
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=base, api_key="none")
    agent = Agent(
        name="editor",
        instructions=INSTRUCTIONS,
        model=OpenAIResponsesModel(model=model, openai_client=client),
        tools=[function_tool(tool) for tool in TOOLS],
    )
    result = Runner.run_streamed(agent, task)
    async for _ in result.stream_events():
        pass
    return result.final_output


async def pydantic_ai(base, model, task):
    """Over /v1/chat/completions."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=base, api_key="none")
    agent = Agent(OpenAIChatModel(model, provider=provider), instructions=INSTRUCTIONS, tools=TOOLS)
    async with agent.run_stream(task) as result:
        return await result.get_output()


LIBRARIES = [openai_agents, pydantic_ai]


def main():
    library, *asked = sys.argv[1:]
    [loop] = [each for each in LIBRARIES if each.__name__ == library]
    print(asyncio.run(loop(*asked)))


if __name__ == "__main__":
    main()
