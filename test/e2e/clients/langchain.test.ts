/** LangChain, `@langchain/openai` 1. */
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
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
const tools = [{ type: 'function' as const, function: WEATHER }];

function model(useResponsesApi = false): ChatOpenAI {
  return new ChatOpenAI({
    model: MODEL,
    temperature: 0,
    apiKey: 'none',
    maxRetries: 0,
    useResponsesApi,
    configuration: { baseURL: `${url()}/v1` },
  });
}

test.each([false, true])('answers and streams, over the Responses API: %s', async (responses) => {
  const whole = await model(responses).invoke(SUM_QUESTION);
  expect(whole.text).toContain('68');
  let text = '';
  for await (const chunk of await model(responses).stream(SUM_QUESTION)) text += chunk.text;
  expect(text).toBe(whole.text);
  expect(whole).toHaveProperty('usage_metadata.output_tokens', expect.any(Number));
});

test.each([false, true])('calls a tool, over the Responses API: %s', async (responses) => {
  const bound = model(responses).bindTools(tools, { tool_choice: 'required' });
  const question = new HumanMessage(WEATHER_QUESTION);
  const message = await bound.invoke([question]);
  const call = message.tool_calls?.[0];
  expect(call).toMatchObject({ name: 'get_weather', args: { city: 'Paris' } });
  const result = new ToolMessage({ tool_call_id: call?.id ?? '', content: '{"sky": "clear"}' });
  const answer = await model(responses).bindTools(tools).invoke([question, message, result]);
  expect(answer.text).toBeTypeOf('string');
});

test('calls a tool in a stream', async () => {
  const bound = model().bindTools(tools, { tool_choice: 'required' });
  let text = '';
  for await (const chunk of await bound.stream(WEATHER_QUESTION)) {
    text += chunk.tool_call_chunks?.map(({ args }) => args ?? '').join('') ?? '';
  }
  expect(JSON.parse(text)).toEqual({ city: 'Paris' });
});

test('parses a schema', async () => {
  const schema = z.object({ name: z.string(), age: z.int() });
  const structured = model().withStructuredOutput(schema, { method: 'jsonSchema' });
  expect((await structured.invoke(PERSON_QUESTION)).name).toBeTypeOf('string');
});

test('aborts', async () => {
  const abort = new AbortController();
  const { signal } = abort;
  const read = async (): Promise<void> => {
    const stream = await model().stream('Tell me a story about a fox.', { signal });
    for await (const _ of stream) abort.abort();
  };
  await read().catch(() => {});
  await vi.waitFor(async () => expect(await numRunning(url())).toBe(0));
  expect(signal.aborted).toBe(true);
});

test('answers many inputs as a batch', async () => {
  const sums = [1, 2, 3, 4].map((a) => `What is ${a} + ${10 * a}?`);
  const answers = await model().batch(sums);
  expect(answers.map(({ text }) => text).join(' ')).toMatch(/11.*22.*33.*44/);
});
