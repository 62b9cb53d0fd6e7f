/** /completion and /props of llama-server, /invocations and /ping of SageMaker. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { errorOf, eventsOf, post } from './support/client.ts';
import { babbles, MODEL, says, type TestServer, useServers } from './support/test-server.ts';

const server = useServers();
const COMPLETION = '/completion';

function promptOf({ engine, runtime }: TestServer): string {
  const promptTokenIds = engine.requests.at(-1)?.promptTokenIds ?? new Int32Array();
  return runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false });
}

describe('/completion', () => {
  test('answers as llama-server does', async () => {
    const target = await server({ script: says('x\n') });
    const response = await post(target, COMPLETION, { prompt: 'Hi' });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      index: 0,
      content: 'x\n',
      stop: true,
      stop_type: 'eos',
      tokens_predicted: 3,
      timings: { predicted_n: 3 },
    });
    expect(promptOf(target)).toBe('Hi');
    // As many as fit, sampled by llama.cpp's defaults.
    const [request] = target.engine.requests;
    expect(request?.sampling).toMatchObject({ temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05 });
    expect(request?.maxTokens).toBe(256 - (request?.promptTokenIds.length ?? 0));
  });

  test('takes what its clients send, and token ids', async () => {
    const target = await server({ script: babbles });
    const body = {
      prompt: [1, 2, 3],
      n_predict: 2,
      temperature: 0.5,
      repeat_penalty: 1.1,
      ignore_eos: true,
      cache_prompt: true,
      id_slot: -1,
      samplers: ['top_k'],
      n_probs: 0,
      logit_bias: [],
      mirostat: 0,
      grammar: '',
    };
    const response = await post(target, COMPLETION, body);
    expect(await response.json()).toMatchObject({ content: 'xx', stop_type: 'limit' });
    const [request] = target.engine.requests;
    expect([...(request?.promptTokenIds ?? [])]).toEqual([1, 2, 3]);
    expect(request?.sampling).toMatchObject({ temperature: 0.5, repetitionPenalty: 1.1 });
    expect(request?.grammar).toBeNull();
  });

  test.each([
    [
      'pairs',
      [
        [5, 1.5],
        ['x\n', -200],
        ['Hi', false],
      ],
    ],
    ['an object', { 5: 1.5, 'x\n': -200, Hi: false }],
  ])('takes biases of tokens and texts as %s', async (_, logit_bias) => {
    const target = await server({ script: says('x') });
    expect((await post(target, COMPLETION, { prompt: 'a', logit_bias })).status).toBe(200);
    const tokensOf = (text: string) => [
      ...target.runtime.tokenizer.encode(text, { addSpecialTokens: false }),
    ];
    const { tokenIds, biases } = target.engine.requests[0]?.sampling.logitBias ?? {};
    expect([...(tokenIds ?? [])]).toEqual([5, ...tokensOf('x\n'), ...tokensOf('Hi')]);
    const numLow = tokensOf('x\n').length + tokensOf('Hi').length;
    expect([...(biases ?? [])]).toEqual([1.5, ...Array.from({ length: numLow }, () => -100)]);
  });

  test.each([
    ['no pair', [[5]]],
    ['no text', [['', 1]]],
    ['no number', [[5, 'x']]],
    ['true', [[5, true]]],
    ['a part of a token', [[1.5, 1]]],
    ['a token that is not there', [[1e6, 1]]],
    ['no list', 5],
    ['too many texts', Array.from({ length: 1025 }, (_each, at) => [`x${at}`, 1])],
    ['texts that are too long', [['x'.repeat(8193), 1]]],
  ])('refuses biases: %s', async (_, logit_bias) => {
    const target = await server({ script: babbles });
    const response = await post(target, COMPLETION, { prompt: 'a', logit_bias });
    const { message } = await errorOf(response, 400);
    expect(message).toContain('logit_bias');
  });

  test('streams pieces, then the end, without another word', async () => {
    const target = await server({ script: says('xy') });
    const events = await eventsOf(await post(target, COMPLETION, { prompt: 'a', stream: true }));
    const piece = z.looseObject({ content: z.string(), stop: z.boolean() });
    const pieces = events.map((event) => piece.parse(JSON.parse(event)));
    expect(pieces.map(({ content, stop }) => [content, stop])).toEqual([
      ['x', false],
      ['y', false],
      ['', true],
    ]);
  });

  test.each([
    [{ grammar: 'root ::= "a"' }, 'ebnf'],
    [{ json_schema: { type: 'object' } }, 'json_schema'],
  ])('%j is kept to', async (fields, kind) => {
    const kinds: string[] = [];
    const grammars = {
      check: async ({ form }: { readonly form: { readonly kind: string } }) => {
        kinds.push(form.kind);
        return { ebnf: 'root ::= "a"', field: 'grammar', owner: '' };
      },
    };
    const target = await server({ grammars });
    const response = await post(target, COMPLETION, { prompt: 'Hi', ...fields });
    expect(response.status).toBe(200);
    expect(kinds).toEqual([kind]);
    expect(target.engine.requests[0]?.grammar).not.toBeNull();
  });

  test.each([
    [{}, 'prompt'],
    [{ prompt: ['a', 'b'] }, 'prompt'],
    [{ prompt: [99_999] }, 'prompt.0'],
    [{ prompt: 'a', n_probs: 3 }, 'n_probs'],
    [{ prompt: 'a', n_predict: -2 }, 'n_predict'],
    [{ prompt: 'a', grammar: 'root ::= "a"', json_schema: {} }, 'json_schema'],
    [{ prompt: 'a', image_data: [{ data: 'aGk=', id: 1 }] }, 'image_data'],
  ])('%j is refused', async (body, param) => {
    const target = await server();
    const error = await errorOf(await post(target, COMPLETION, body), 400);
    expect(error).toMatchObject({ param });
    expect(target.engine.requests).toHaveLength(0);
  });
});

test('/props says how long the context is, and how requests sample', async () => {
  const { url } = await server({ samplingDefaults: { temperature: 0.7 } });
  const response = await fetch(`${url}/props`);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    default_generation_settings: { n_ctx: 256, params: { temperature: 0.7, top_k: 40 } },
    modalities: { vision: false },
    model_alias: MODEL,
  });
  expect((await fetch(`${url}/props?model=none`)).status).toBe(404);
});

test('/invocations is a chat or a completion, as its body says', async () => {
  const target = await server({ script: says('x') });
  const chat = { messages: [{ role: 'user', content: 'Hi' }] };
  const chatted = await post(target, '/invocations', chat);
  expect(await chatted.json()).toMatchObject({ object: 'chat.completion' });
  const completed = await post(target, '/invocations', { prompt: 'Hi' });
  expect(await completed.json()).toMatchObject({ object: 'text_completion' });
  const error = await errorOf(await post(target, '/invocations', {}), 400);
  expect(error).toMatchObject({ param: 'prompt' });
  const events = await eventsOf(await post(target, '/invocations', { ...chat, stream: true }));
  expect(events.at(-1)).toBe('[DONE]');
});

test('/ping is a probe, which needs no key', async () => {
  const { url } = await server({ config: { apiKeys: ['secret'] } });
  expect((await fetch(`${url}/ping`)).status).toBe(200);
  expect((await fetch(`${url}/props`)).status).toBe(401);
});
