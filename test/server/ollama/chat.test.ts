/** /api/chat and /api/generate, by Ollama's own client. */
import { describe, expect, test } from 'vitest';
import type { GenerationDelta } from '../../../src/front/generation/generation.ts';
import type { SamplingDefaults } from '../../../src/server/runtimes.ts';
import { post } from '../support/client.ts';
import {
  babbles,
  MODEL,
  says,
  type TestServerOptions,
  useServers,
} from '../support/test-server.ts';
import { all, clientOf, expectOllamaError } from './support.ts';
import { HERMES, THINK } from '../../support/chat-formats.ts';

const server = useServers();
const model = `${MODEL}:latest`;
const messages = [{ role: 'user', content: 'Hi' }];
const client = async (options: TestServerOptions = {}) => clientOf(await server(options));

const facts = {
  model,
  done: true,
  done_reason: 'stop',
  prompt_eval_count: 'user: Hi\nassistant: '.length,
  eval_count: 'Hello there!'.length + 1,
};

describe('/api/chat', () => {
  test('in one piece', async () => {
    const answer = await (await client()).chat({ model, messages });
    expect(answer).toMatchObject({
      ...facts,
      message: { role: 'assistant', content: 'Hello there!' },
    });
    expect(new Date(answer.created_at).getTime()).toBeGreaterThan(Date.now() - 60_000);
    const { total_duration: total, load_duration: load, eval_duration: decode } = answer;
    expect(total).toBeGreaterThanOrEqual(load + decode + answer.prompt_eval_duration);
    for (const duration of [total, load, decode]) expect(Number.isInteger(duration)).toBe(true);
    expect(decode).toBeGreaterThan(0);
  });

  test('streamed, which is what is done if nothing is said', async () => {
    const target = await server();
    const lines = await all(await clientOf(target).chat({ model, messages, stream: true }));
    expect(lines.map(({ message }) => message.content).join('')).toBe('Hello there!');
    expect(lines.slice(0, -1).every(({ done }) => !done)).toBe(true);
    expect(lines.at(-1)).toMatchObject({ ...facts, message: { content: '' } });
    const response = await post(target, '/api/chat', { model, messages });
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const text = await response.text();
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).model),
    ).toEqual(lines.map(() => model));
  });

  test.each(['chat', 'generate'] as const)('log-probabilities of %s', async (kind) => {
    const ollama = await client();
    const ask = { model, logprobs: true, top_logprobs: 2 };
    const whole = await (kind === 'chat'
      ? ollama.chat({ ...ask, messages })
      : ollama.generate({ ...ask, prompt: 'Hi' }));
    const told = whole.logprobs ?? [];
    expect(told.map(({ token }) => token).join('')).toBe('Hello there!');
    expect(told[0]).toMatchObject({ token: 'H', logprob: expect.any(Number), bytes: [72] });
    expect(told[0]?.top_logprobs).toHaveLength(2);
    const lines =
      kind === 'chat'
        ? await all(await ollama.chat({ ...ask, messages, stream: true }))
        : await all(await ollama.generate({ ...ask, prompt: 'Hi', stream: true }));
    expect(lines.flatMap((line) => line.logprobs ?? [])).toEqual(told);
    expect(await ollama.chat({ model, messages })).not.toHaveProperty('logprobs');
  });

  test('options shape the sampling, and an answer ends where the context does', async () => {
    const target = await server({ script: babbles, maxModelLen: 64 });
    const options = {
      temperature: 0.5,
      top_k: 7,
      top_p: 0.8,
      min_p: 0.1,
      seed: 42,
      repeat_penalty: 1.2,
      presence_penalty: 0.3,
      frequency_penalty: 0.4,
      num_ctx: 8192,
      num_predict: 1000,
    };
    const answer = await clientOf(target).chat({ model, messages, options });
    expect(answer.done_reason).toBe('length');
    expect(answer.eval_count).toBe(64 - answer.prompt_eval_count);
    expect(target.engine.requests[0]?.sampling).toMatchObject({
      temperature: 0.5,
      topK: 7,
      topP: 0.8,
      minP: 0.1,
      seed: 42n,
      repetitionPenalty: 1.2,
      presencePenalty: 0.3,
      frequencyPenalty: 0.4,
    });
    const short = { num_predict: 3, stop: ['zz'] };
    const cut = await clientOf(target).chat({ model, messages, options: short });
    expect([cut.eval_count, cut.done_reason]).toEqual([3, 'length']);
  });

  test.each([
    ['nobody', {}, { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05, repetitionPenalty: 1 }],
    [
      'the model',
      { temperature: 0.6, topP: 1 },
      { temperature: 0.6, topK: 40, topP: 1, minP: 0.05 },
    ],
    [
      'the operator',
      { temperature: 0, topK: 0, minP: 0 },
      { temperature: 0, topK: 0, topP: 0.95, minP: 0 },
    ],
  ])('samples as llama.cpp what %s names no value for', async (_, samplingDefaults, expected) => {
    const target = await server({ script: says('Hi'), samplingDefaults });
    const ollama = clientOf(target);
    await ollama.chat({ model, messages });
    await ollama.generate({ model, prompt: 'Hi' });
    await ollama.generate({ model, prompt: 'Hi', raw: true });
    const sampled = target.engine.requests.map(({ sampling }) => sampling);
    expect(sampled).toHaveLength(3);
    for (const each of sampled) expect(each).toMatchObject(expected);
    // OpenAI's API has vLLM's defaults.
    const other = await post(target, '/v1/chat/completions', { model: MODEL, messages });
    expect(other.status).toBe(200);
    await other.text();
    const { temperature = 1, topK = 0, topP = 1, minP = 0 }: SamplingDefaults = samplingDefaults;
    expect(target.engine.requests.at(-1)?.sampling).toMatchObject({
      temperature,
      topK,
      topP,
      minP,
    });
  });

  test('stop strings', async () => {
    const options = { stop: ['there'] };
    const answer = await (await client()).chat({ model, messages, options });
    expect(answer.message.content).toBe('Hello ');
    expect(answer.done_reason).toBe('stop');
  });

  test('an answer that was begun is gone on with', async () => {
    const target = await server();
    const begun = [...messages, { role: 'assistant', content: 'Oh' }];
    await clientOf(target).chat({ model, messages: begun });
    const [request] = target.engine.requests;
    expect(request?.promptTokenIds).toHaveLength('user: Hi\nassistant: Oh'.length);
  });
});

describe('tools', () => {
  const tools = [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
      },
    },
  ];
  const call = (city: string) =>
    `<tool_call>\n{"name": "get_weather", "arguments": {"city": "${city}"}}\n</tool_call>`;
  const chatFormat = { toolCalls: HERMES, reasoning: null };
  const called = (index: number, city: string) => ({
    id: expect.any(String),
    function: { index, name: 'get_weather', arguments: { city } },
  });
  const options = (text: string) => ({ script: says(text), chatFormat, maxModelLen: 2000 });

  test('are called, in one piece and streamed', async () => {
    const ollama = await client(options(`I look.\n${call('Oslo')}\n${call('Rome')}`));
    const whole = await ollama.chat({ model, messages, tools });
    expect(whole.message.content).toBe('I look.');
    expect(whole.message.tool_calls).toEqual([called(0, 'Oslo'), called(1, 'Rome')]);
    const lines = await all(await ollama.chat({ model, messages, tools, stream: true }));
    expect(lines.map(({ message }) => message.content).join('')).toBe('I look.');
    const calls = lines.flatMap(({ message }) => message.tool_calls ?? []);
    expect(calls).toEqual([called(0, 'Oslo'), called(1, 'Rome')]);
  });

  test('a call that is cut short is text, streamed too', async () => {
    const text = call('Oslo').slice(0, -20);
    const ollama = await client(options(text));
    const lines = await all(await ollama.chat({ model, messages, tools, stream: true }));
    expect(lines.map(({ message }) => message.content).join('')).toBe(text);
    expect(lines.some(({ message }) => message.tool_calls !== undefined)).toBe(false);
    expect((await ollama.chat({ model, messages, tools })).message.content).toBe(text);
  });

  test('results go back to the model', async () => {
    const target = await server(options('Fine.'));
    const turn = {
      role: 'assistant',
      content: '',
      tool_calls: [{ function: { name: 'get_weather', arguments: { city: 'Oslo' } } }],
    };
    const result = { role: 'tool', tool_name: 'get_weather', content: 'rain' };
    const answer = await clientOf(target).chat({ model, messages: [...messages, turn, result] });
    expect(answer.message.content).toBe('Fine.');
  });

  test('of a model without a format for them are refused', async () => {
    const response = await post(await server(), '/api/chat', { messages, tools });
    expect(await expectOllamaError(response, 400)).toContain('does not support tools');
  });
});

describe('thinking', () => {
  const chatFormat = { toolCalls: null, reasoning: THINK };

  test('is told apart from what is said', async () => {
    const ollama = await client({ chatFormat, script: says('<think>Hm.</think>Yes.') });
    const whole = await ollama.chat({ model, messages, think: true });
    expect(whole.message).toMatchObject({ thinking: 'Hm.', content: 'Yes.' });
    const lines = await all(await ollama.generate({ model, prompt: 'Hi', stream: true }));
    expect(lines.map(({ thinking = '' }) => thinking).join('')).toBe('Hm.');
    expect(lines.map(({ response = '' }) => response).join('')).toBe('Yes.');
  });

  test('of a model that does not think is refused', async () => {
    const target = await server();
    const response = await post(target, '/api/chat', { messages, think: 'high' });
    expect(await expectOllamaError(response, 400)).toContain('does not support thinking');
    expect((await post(target, '/api/chat', { messages, think: false })).status).toBe(200);
  });
});

describe('format', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } } };

  test.each(['json', schema])('%j holds the answer to it', async (format) => {
    const target = await server({ script: says('{"a": 1}') });
    const answer = await clientOf(target).chat({ model, messages, format });
    expect(JSON.parse(answer.message.content)).toEqual({ a: 1 });
    expect(target.engine.requests[0]?.grammar?.field).toBe('format');
  });

  test('"" holds it to nothing', async () => {
    const target = await server();
    await clientOf(target).generate({ model, prompt: 'Hi', format: '', raw: true });
    expect(target.engine.requests[0]?.grammar).toBeNull();
  });

  test('holds a raw prompt too', async () => {
    const target = await server();
    await clientOf(target).generate({ model, prompt: 'Hi', format: schema, raw: true });
    expect(target.engine.requests[0]?.grammar?.field).toBe('format');
  });
});

describe('/api/generate', () => {
  test('answers a question', async () => {
    const target = await server();
    const answer = await clientOf(target).generate({ model, prompt: 'Hi', system: 'Be kind.' });
    expect(answer).toMatchObject({ done: true, done_reason: 'stop', response: 'Hello there!' });
    const prompt = 'system: Be kind.\nuser: Hi\nassistant: ';
    expect(answer.prompt_eval_count).toBe(prompt.length);
  });

  test('continues a raw prompt', async () => {
    const answer = await (await client()).generate({ model, prompt: 'Hi', raw: true });
    expect([answer.prompt_eval_count, answer.response]).toEqual([2, 'Hello there!']);
  });

  test('a prompt that is too long names its field', async () => {
    for (const raw of [false, true]) {
      const body = { prompt: 'x'.repeat(1000), raw };
      const error = await expectOllamaError(await post(await server(), '/api/generate', body), 400);
      expect(error).toContain('maximum context length is 256 tokens');
    }
  });
});

test('a client that goes away ends the answer', async () => {
  const target = await server({ script: babbles, maxModelLen: 100_000 });
  const leaver = new AbortController();
  const response = await post(target, '/api/chat', { messages }, { signal: leaver.signal });
  await response.body?.getReader().read();
  leaver.abort();
  await target.admission.onIdle();
  expect(target.engine.requests).toHaveLength(1);
});

test('a failure after the first line is a line', async () => {
  const target = await server({
    generator: {
      async *generate(): AsyncGenerator<GenerationDelta, void> {
        yield { text: 'x', tokenIds: [1], finishReason: null, stopReason: null };
        throw new Error('secret of /home/user/model.ts');
      },
    },
  });
  const text = await (await post(target, '/api/generate', { prompt: 'Hi' })).text();
  const last: unknown = JSON.parse(text.trim().split('\n').at(-1) ?? '');
  expect(last).toEqual({ error: 'The server hit an internal error.' });
});
