/** Vercel's AI SDK, `ai` 6 over `@ai-sdk/openai-compatible` 2. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai';
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

function model() {
  const provider = createOpenAICompatible({
    name: 'chairlift',
    baseURL: `${url()}/v1`,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  return provider(MODEL);
}

const getWeather = tool({
  description: WEATHER.description,
  inputSchema: jsonSchema<{ city: string }>({
    ...WEATHER.parameters,
    required: [...WEATHER.parameters.required],
  }),
  execute: ({ city }) => ({ city, sky: 'clear' }),
});

test('streams, with usage', async () => {
  const result = streamText({ model: model(), temperature: 0, prompt: SUM_QUESTION });
  let text = '';
  for await (const piece of result.textStream) text += piece;
  expect(text).toContain('68');
  expect(await result.finishReason).toBe('stop');
  expect((await result.usage).outputTokens).toBeGreaterThan(0);
});

test('calls a tool and goes on with its result', async () => {
  const result = await generateText({
    model: model(),
    temperature: 0,
    prompt: WEATHER_QUESTION,
    tools: { get_weather: getWeather },
    // Required at first only: else it could do nothing but call.
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? 'required' : 'none' }),
    stopWhen: stepCountIs(2),
  });
  expect(result.steps[0]?.toolResults[0]?.output).toEqual({ city: 'Paris', sky: 'clear' });
  expect(result.steps).toHaveLength(2);
});

test('calls a tool in a stream', async () => {
  const result = streamText({
    model: model(),
    temperature: 0,
    prompt: WEATHER_QUESTION,
    tools: { get_weather: getWeather },
    toolChoice: 'required',
  });
  const kinds = new Set<string>();
  for await (const part of result.fullStream) kinds.add(part.type);
  expect([...kinds]).toEqual(expect.arrayContaining(['tool-input-delta', 'tool-result']));
  expect((await result.toolCalls)[0]?.input).toEqual({ city: 'Paris' });
});

test('parses a schema', async () => {
  const result = await generateText({
    model: model(),
    prompt: PERSON_QUESTION,
    output: Output.object({ schema: z.object({ name: z.string(), age: z.int() }) }),
  });
  expect(result.output.name).toBeTypeOf('string');
});

test('aborts', async () => {
  const abort = new AbortController();
  const prompt = 'Tell me a story about a fox.';
  const result = streamText({ model: model(), prompt, abortSignal: abort.signal });
  for await (const part of result.fullStream) if (part.type === 'text-delta') abort.abort();
  await vi.waitFor(async () => expect(await numRunning(url())).toBe(0));
});

test('an error is told with the server’s message', async () => {
  const failed = generateText({ model: model(), temperature: 9, prompt: 'Hi', maxRetries: 0 });
  await expect(failed).rejects.toThrow('temperature');
});
