import { OpenAI } from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { childrenOf } from '../support/processes.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const MODEL = 'summit';
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'Get the weather for a city',
    parameters: {
      type: 'object',
      // At temperature 1 this small model may lose its way in a string without an end.
      properties: { city: { type: 'string', description: 'City name', maxLength: 20 } },
      required: ['city'],
    },
  },
};
const clock = {
  type: 'function' as const,
  function: {
    ...weather.function,
    name: 'get_time',
    description: 'Get the current time in a city',
  },
};
const ask = (content: string) => [{ role: 'user' as const, content }];

describe('a real model', () => {
  let server: ServerProcess;
  let client: OpenAI;

  beforeAll(async () => {
    server = await startServer([], cache.env);
    client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'key', maxRetries: 0 });
  });
  afterAll(async () => {
    await server.stop();
  });

  it('calls a tool when it helps, streamed and in one piece, and answers with the result', async () => {
    const messages = ask('What is the weather in Paris?');
    const body = { model: MODEL, messages, tools: [weather, clock], temperature: 0 };
    const stream = client.chat.completions.stream(body);
    const streamed = (await stream.finalChatCompletion()).choices[0];
    const [whole] = (await client.chat.completions.create(body)).choices;
    for (const choice of [streamed, whole]) {
      expect(choice).toMatchObject({
        finish_reason: 'tool_calls',
        message: { tool_calls: [{ function: { name: 'get_weather' } }] },
      });
    }
    const [call] = whole?.message.tool_calls ?? [];
    const result = {
      role: 'tool' as const,
      tool_call_id: call?.id ?? '',
      content: '{"temp_c": 21}',
    };
    const turns = [...messages, ...(whole ? [whole.message] : []), result];
    const answer = await client.chat.completions.create({ ...body, messages: turns });
    expect(answer.choices[0]?.message.content).toContain('21');
  });

  it('calls the tool it must, whatever was said', async () => {
    const city = z.strictObject({ city: z.string() });
    const named = { type: 'function' as const, function: { name: 'get_time' } };
    const asked = [0, 1, 2, 3].flatMap((seed) => [
      { tool_choice: 'required' as const, seed },
      { tool_choice: named, seed },
    ]);
    const answers = asked.map(async (fields) => {
      const body = { model: MODEL, messages: ask('Hello!'), tools: [weather, clock], ...fields };
      return (await client.chat.completions.create({ ...body, temperature: 1 })).choices[0];
    });
    for (const [index, choice] of (await Promise.all(answers)).entries()) {
      const calls = choice?.message.tool_calls ?? [];
      expect({ index, reason: choice?.finish_reason }).toEqual({ index, reason: 'tool_calls' });
      for (const call of calls) {
        const { name, arguments: text } =
          'function' in call ? call.function : { name: '', arguments: '' };
        expect(index % 2 === 0 ? ['get_time', 'get_weather'] : ['get_time']).toContain(name);
        city.parse(JSON.parse(text));
      }
    }
  });

  it('parses into the schema of `zodResponseFormat`, streamed too', async () => {
    const person = z.object({
      name: z.string(),
      age: z.int().min(0).max(120),
      pets: z.array(z.enum(['cat', 'dog'])).max(2),
      email: z.email().nullable(),
    });
    const body = {
      model: MODEL,
      messages: ask('JSON for Anna, who is 7 years old, with the keys name and age.'),
      response_format: zodResponseFormat(person, 'person'),
      temperature: 1,
    };
    const parsed = await client.chat.completions.parse({ ...body, seed: 3 });
    expect(person.parse(parsed.choices[0]?.message.parsed)).toBeTruthy();
    const stream = client.chat.completions.stream({ ...body, seed: 4 });
    const { choices } = await stream.finalChatCompletion();
    expect(person.parse(choices[0]?.message.parsed)).toBeTruthy();
  });

  it('goes on within its grammar when the engine is killed', async () => {
    const [pid] = childrenOf(server.child.pid);
    const list = z
      .array(z.object({ word: z.string().max(8), number: z.int().min(0).max(999) }))
      .length(12);
    const body = {
      model: MODEL,
      messages: ask('Give me a JSON array.'),
      response_format: zodResponseFormat(z.object({ list }), 'list'),
      seed: 5,
      temperature: 1,
    };
    const undisturbed = await client.chat.completions.create(body);
    const stream = await client.chat.completions.create({ ...body, stream: true });
    let text = '';
    let killedAt = Infinity;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      // In the first of twelve objects.
      if (text.length < 15 || killedAt < Infinity) continue;
      killedAt = text.length;
      process.kill(pid ?? -1, 'SIGKILL');
    }
    expect(killedAt).toBeLessThan(text.length);
    expect(text).toBe(undisturbed.choices[0]?.message.content);
    expect(list.parse(JSON.parse(text).list)).toHaveLength(12);
  });
});
