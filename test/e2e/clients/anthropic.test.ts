/** The official client, `@anthropic-ai/sdk` 1. */
import { Anthropic } from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  MODEL,
  numRunning,
  PERSON_QUESTION,
  SUM_QUESTION,
  useLiveServer,
  WEATHER,
  WEATHER_QUESTION,
} from '../../clients/support/live-server.ts';

const url = useLiveServer();

const person = z.object({ name: z.string(), age: z.int() });
const { name, description, parameters } = WEATHER;
const tools = [
  {
    name,
    description,
    input_schema: { ...parameters, required: [...parameters.required] },
  },
];

function client(): Anthropic {
  return new Anthropic({ baseURL: url(), apiKey: 'none', maxRetries: 0 });
}

function ask(content: string) {
  return {
    model: MODEL,
    max_tokens: 100,
    temperature: 0,
    messages: [{ role: 'user' as const, content }],
  };
}

test('gives the same text in one piece and streamed', async () => {
  const whole = await client().messages.create(ask(SUM_QUESTION));
  expect(whole.content).toMatchObject([{ type: 'text', text: expect.stringContaining('68') }]);
  const stream = client().messages.stream(ask(SUM_QUESTION));
  expect(await stream.finalText()).toBe(
    whole.content[0]?.type === 'text' ? whole.content[0].text : '',
  );
});

test('parses a schema', async () => {
  const answer = await client().messages.parse({
    ...ask(PERSON_QUESTION),
    output_config: { format: zodOutputFormat(person) },
  });
  expect(answer.parsed_output).toMatchObject({ name: expect.any(String) });
});

test('calls a tool, takes its result, and goes on', async () => {
  const asked = ask(WEATHER_QUESTION);
  const called = await client().messages.create({ ...asked, tools, tool_choice: { type: 'any' } });
  expect(called.stop_reason).toBe('tool_use');
  const [call] = called.content;
  if (call?.type !== 'tool_use') throw new Error('no call');
  expect(call).toMatchObject({ name, input: { city: 'Paris' } });
  const result = {
    type: 'tool_result' as const,
    tool_use_id: call.id,
    content: '{"sky": "clear"}',
  };
  const answer = await client().messages.create({
    ...asked,
    tools,
    messages: [
      ...asked.messages,
      { role: 'assistant', content: called.content },
      { role: 'user', content: [result] },
    ],
  });
  expect(answer.content.length).toBeGreaterThan(0);
});

test('counts tokens, and lists models', async () => {
  const { max_tokens: _most, temperature: _temperature, ...prompt } = ask(SUM_QUESTION);
  const { input_tokens: count } = await client().messages.countTokens(prompt);
  const answer = await client().messages.create(ask(SUM_QUESTION));
  expect(answer.usage.input_tokens + (answer.usage.cache_read_input_tokens ?? 0)).toBe(count);
  const ids: string[] = [];
  for await (const model of client().models.list()) {
    expect(model.type).toBe('model');
    ids.push(model.id);
  }
  expect(ids).toContain(MODEL);
});

test('aborts', async () => {
  const stream = client().messages.stream({ ...ask('Tell me a story.'), max_tokens: 1000 });
  stream.on('text', () => stream.abort());
  await expect(stream.finalMessage()).rejects.toThrow('aborted');
  await vi.waitFor(async () => expect(await numRunning(url())).toBe(0));
});

test('takes a system message within the conversation', async () => {
  const { messages, ...asked } = ask(SUM_QUESTION);
  const brief = { role: 'system' as const, content: 'Be brief.' };
  const answer = await client().messages.create({ ...asked, messages: [brief, ...messages] });
  expect(answer.content).toMatchObject([{ type: 'text', text: expect.any(String) }]);
});
