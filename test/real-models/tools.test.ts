/** Tools for a model whose chat template has no place for them, by OpenAI's client. */
import { OpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../support/needs.ts';
import { REAL_MODEL, REAL_MODEL_PATH } from '../support/real-model.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

const model = 'smol';
const messages = [{ role: 'user' as const, content: 'What is the weather in Paris?' }];
const tools = [
  {
    type: 'function' as const,
    function: {
      name: 'get_weather',
      description: 'Get the weather in a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

describe('SmolLM2-135M-Instruct, whose template has no tools', needs(REAL_MODEL), () => {
  let server: ServerProcess;
  let client: OpenAI;

  beforeAll(async () => {
    server = await startServer(['--model', `${model}=${REAL_MODEL_PATH}`]);
    client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  });

  afterAll(async () => {
    await server?.stop();
  });

  it('is told of them', async () => {
    const body = { model, messages, max_tokens: 1 };
    const without = await client.chat.completions.create(body);
    const with_ = await client.chat.completions.create({ ...body, tools });
    const tokens = [without, with_].map(({ usage }) => usage?.prompt_tokens ?? 0);
    expect((tokens[1] ?? 0) - (tokens[0] ?? 0)).toBeGreaterThan(50);
  });

  it('calls them where it must, and is understood when it goes on', async () => {
    const body = { model, temperature: 0, tools, max_tokens: 100 };
    const called = await client.chat.completions.create({
      ...body,
      messages,
      tool_choice: 'required',
      parallel_tool_calls: false,
    });
    const message = called.choices[0]?.message;
    const call = message?.tool_calls?.[0];
    if (message === undefined || call?.type !== 'function') throw new Error('no call');
    expect(JSON.parse(call.function.arguments)).toEqual({ city: expect.any(String) });
    const result = { role: 'tool' as const, tool_call_id: call.id, content: 'It is sunny.' };
    const answer = await client.chat.completions.create({
      ...body,
      messages: [...messages, message, result],
    });
    expect(answer.usage?.prompt_tokens).toBeGreaterThan(called.usage?.prompt_tokens ?? 0);
  });

  it('gives no markup as text when `max_tokens` cuts a further call', async () => {
    const contents: unknown[] = [];
    for (const max_tokens of [32, 36, 40, 44, 48, 60]) {
      const { choices } = await client.chat.completions.create({
        ...{ model, messages, tools, temperature: 0, max_tokens },
        tool_choice: 'required',
      });
      const { content, tool_calls: calls = [] } = choices[0]?.message ?? {};
      if (calls.length > 0) contents.push(content);
    }
    expect(contents.length).toBeGreaterThan(1);
    expect(new Set(contents)).toEqual(new Set([null]));
  });
});
