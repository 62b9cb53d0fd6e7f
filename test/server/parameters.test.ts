import { expect, test } from 'vitest';
import type { GenerationRequest } from '../../src/front/generation.ts';
import { answerOf, post } from './support/client.ts';
import { MAX_MODEL_LEN, useServers, type TestServerOptions } from './support/test-server.ts';

const server = useServers();

/** The request that `body` becomes. */
async function requestOf(
  path: string,
  body: object,
  options: TestServerOptions = {},
): Promise<GenerationRequest> {
  const requests: GenerationRequest[] = [];
  const target = await server({
    ...options,
    generator: {
      async *generate(request) {
        requests.push(request);
        yield { text: 'x', tokenIds: [1], finishReason: 'length', stopReason: null };
      },
    },
  });
  await answerOf(await post(target, path, body));
  const [request] = requests;
  if (request === undefined) throw new Error('nothing was generated');
  return request;
}

const COMPLETIONS = '/v1/completions';
const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Hi' }];
const numChatTokens = 'user: Hi\nassistant: '.length;

test('without fields, OpenAI’s defaults', async () => {
  expect(await requestOf(COMPLETIONS, { prompt: 'Hi' })).toMatchObject({
    maxTokens: 16,
    minTokens: 0,
    stop: [],
    includeStopStrInOutput: false,
    stopTokenIds: [],
    ignoreEos: false,
    skipSpecialTokens: true,
    sampling: {
      temperature: 1,
      topK: 0,
      topP: 1,
      minP: 0,
      repetitionPenalty: 1,
      presencePenalty: 0,
      frequencyPenalty: 0,
    },
  });
});

test('every field reaches the generator', async () => {
  const body = {
    prompt: [1, 2, 3],
    max_tokens: 9,
    min_tokens: 2,
    temperature: 0,
    top_k: 5,
    top_p: 0.5,
    min_p: 0.1,
    repetition_penalty: 1.2,
    presence_penalty: -1,
    frequency_penalty: 1.5,
    seed: 42,
    stop: 'end',
    include_stop_str_in_output: true,
    stop_token_ids: [7],
    ignore_eos: true,
    skip_special_tokens: false,
  };
  expect(await requestOf(COMPLETIONS, body)).toEqual({
    promptTokenIds: Int32Array.from([1, 2, 3]),
    maxTokens: 9,
    minTokens: 2,
    stop: ['end'],
    includeStopStrInOutput: true,
    stopTokenIds: [7],
    ignoreEos: true,
    skipSpecialTokens: false,
    sampling: {
      temperature: 0,
      topK: 5,
      topP: 0.5,
      minP: 0.1,
      repetitionPenalty: 1.2,
      presencePenalty: -1,
      frequencyPenalty: 1.5,
      seed: 42n,
    },
  });
});

test('the model’s own defaults stand behind the request’s fields', async () => {
  const samplingDefaults = { temperature: 0.6, topK: 20, topP: 0.9, repetitionPenalty: 1.1 };
  const body = { prompt: 'Hi', temperature: 0.2, top_k: -1 };
  const { sampling } = await requestOf(COMPLETIONS, body, { samplingDefaults });
  expect(sampling).toMatchObject({
    temperature: 0.2,
    topK: 0,
    topP: 0.9,
    repetitionPenalty: 1.1,
    minP: 0,
  });
});

test.each([
  [-1, 2n ** 64n - 1n],
  [0, 0n],
  [-(2 ** 63), 2n ** 63n],
])('seed %d keeps its 64 bits', async (seed, bits) => {
  const { sampling } = await requestOf(COMPLETIONS, { prompt: 'Hi', seed });
  expect(sampling.seed).toBe(bits);
});

test('without a seed each request has its own', async () => {
  const seeds = new Set<bigint>();
  for (let index = 0; index < 4; index++) {
    seeds.add((await requestOf(COMPLETIONS, { prompt: 'Hi' })).sampling.seed);
  }
  expect(seeds.size).toBe(4);
});

test.each([
  [CHAT, { messages }, MAX_MODEL_LEN - numChatTokens],
  [CHAT, { messages, max_tokens: 7 }, 7],
  [CHAT, { messages, max_tokens: 7, max_completion_tokens: 8 }, 8],
  [CHAT, { messages, max_tokens: MAX_MODEL_LEN - numChatTokens }, MAX_MODEL_LEN - numChatTokens],
  [COMPLETIONS, { prompt: 'x'.repeat(MAX_MODEL_LEN - 3) }, 3],
  [COMPLETIONS, { prompt: 'x'.repeat(MAX_MODEL_LEN - 1) }, 1],
])('%s: max_tokens is what was asked for, else what fits', async (path, body, maxTokens) => {
  expect((await requestOf(path, body)).maxTokens).toBe(maxTokens);
});
