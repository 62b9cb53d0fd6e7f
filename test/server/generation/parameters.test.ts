import { expect, test } from 'vitest';
import type { GenerationRequest } from '../../../src/front/generation/generation.ts';
import { answerOf, errorOf, post } from '../support/client.ts';
import {
  MAX_MODEL_LEN,
  tokensOf,
  useServers,
  type TestServerOptions,
} from '../support/test-server.ts';

const server = useServers();

/** The request that `body` becomes. */
async function requestOf(
  path: string,
  body: object | string,
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
    logit_bias: { 5: -300, 7: 1.5 },
    allowed_token_ids: [5, 7, 9, 5],
    bad_words: ['no'],
    logprobs: 3,
    prompt_logprobs: 2,
    truncate_prompt_tokens: 2,
    priority: 3,
    cache_salt: 'mine',
  };
  expect(await requestOf(COMPLETIONS, body)).toMatchObject({
    promptTokenIds: Int32Array.from([2, 3]),
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
      logitBias: { tokenIds: Int32Array.of(5, 7), biases: Float32Array.of(-100, 1.5) },
      allowedTokenIds: Int32Array.of(5, 7, 9),
    },
    badWords: [Int32Array.from(tokensOf('no'))],
    logprobs: 3,
    promptLogprobs: 2,
    priority: 3,
    cacheSalt: 'mine',
  });
});

test('the request’s fields go before the model’s own defaults', async () => {
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
  ['-2', 2n ** 64n - 2n],
  ['0', 0n],
  ['9007199254740993', 2n ** 53n + 1n],
  ['9223372036854775807', 2n ** 63n - 1n],
  ['-9223372036854775808', 2n ** 63n],
])('seed %s keeps its 64 bits', async (seed, bits) => {
  const decoys = '"metadata": {"seed": 5}, "no\\"seed": 9007199254740992';
  const body = `{"prompt": "Hi", ${decoys}, "seed" : ${seed}}`;
  const { sampling } = await requestOf(COMPLETIONS, body);
  expect(sampling.seed).toBe(bits);
});

test.each(['9223372036854775808', '-9223372036854775809', '1e19', '1e400', '"1"'])(
  'seed %s is refused',
  async (seed) => {
    const body = `{"prompt": "Hi", "seed": ${seed}}`;
    const error = await errorOf(await post(await server(), COMPLETIONS, body), 400);
    expect(error.param).toBe('seed');
  },
);

test('seed -1 is a random one', async () => {
  const seeds = new Set<bigint>();
  for (let index = 0; index < 4; index++) {
    seeds.add((await requestOf(COMPLETIONS, { prompt: 'Hi', seed: -1 })).sampling.seed);
  }
  expect(seeds.size).toBe(4);
});

test.each([
  [4, 'abcd'.slice(-4)],
  [2, 'cd'],
  [-1, 'abcd'],
])('truncate_prompt_tokens %d keeps the end', async (numKept, rest) => {
  const body = { prompt: 'abcd', truncate_prompt_tokens: numKept };
  const { promptTokenIds } = await requestOf(COMPLETIONS, body);
  expect([...promptTokenIds]).toEqual(tokensOf(rest));
});

test('truncate_prompt_tokens -1 keeps what leaves room for the output', async () => {
  const prompt = 'x'.repeat(MAX_MODEL_LEN + 50);
  const body = { prompt, truncate_prompt_tokens: -1, max_tokens: 6 };
  const { promptTokenIds, maxTokens } = await requestOf(COMPLETIONS, body);
  expect([promptTokenIds.length, maxTokens]).toEqual([MAX_MODEL_LEN - 6, 6]);
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
