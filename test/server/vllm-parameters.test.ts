/** Parameters of vLLM and others: acted on, or refused; never left out without a word. */
import { describe, expect, test } from 'vitest';
import { answerOf, chunksOf, errorOf, post } from './support/client.ts';
import { says, useServers, type TestServer } from './support/test-server.ts';
import { HERMES, THINK } from '../support/chat-formats.ts';

const server = useServers();

const COMPLETIONS = '/v1/completions';
const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Hi' }];
const chatFormat = { toolCalls: HERMES, reasoning: THINK };

function promptOf({ engine, runtime }: TestServer): string {
  const promptTokenIds = engine.requests.at(-1)?.promptTokenIds ?? [];
  return runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false });
}

describe.each([
  [COMPLETIONS, { prompt: 'Hi' }],
  [CHAT, { messages }],
  ['/v1/responses', { input: 'Hi' }],
  ['/v2/models/org%2Ffake-model/generate', { text_input: 'Hi' }],
])('%s', (path, valid) => {
  test.each([
    { logits_processors: ['a'] },
    { spaces_between_special_tokens: false },
    { prompt_embeds: 'AAAA' },
    { logprob_token_ids: [1] },
    { repetition_detection: { max_pattern_size: 5 } },
    { repetition_min_count: 2 },
    { kv_transfer_params: { do_remote_decode: true } },
    { vllm_xargs: { a: 1 } },
    { grammar: 'root ::= "a"' },
    { json_schema: { type: 'object' } },
    { mirostat: 2 },
  ])('refuses %j', async (field) => {
    const target = await server();
    const body = path.startsWith('/v2') ? { ...valid, parameters: field } : { ...valid, ...field };
    const response = await post(target, path, body);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(Object.keys(field)[0]);
    expect(target.engine.requests).toHaveLength(0);
  });

  test('takes values that change nothing', async () => {
    const neutral = {
      use_beam_search: false,
      logits_processors: [],
      logprob_token_ids: null,
      kv_transfer_params: null,
      vllm_xargs: {},
      grammar: '',
      mirostat: 0,
      typical_p: 1,
      spaces_between_special_tokens: true,
      length_penalty: 1,
    };
    const body = path.startsWith('/v2')
      ? { ...valid, parameters: neutral }
      : { ...valid, ...neutral };
    expect((await post(await server(), path, body)).status).toBe(200);
  });
});

test.each([
  ['/v1/responses', { input: 'Hi', use_beam_search: true }],
  [
    '/v2/models/org%2Ffake-model/generate',
    { text_input: 'Hi', parameters: { use_beam_search: true } },
  ],
  ['/infill', { input_prefix: 'a', input_suffix: 'b', use_beam_search: true }],
])('%s has no beam search, and says where it is', async (path, body) => {
  const target = await server({ fillsIn: true });
  const response = await post(target, path, body);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('is of /v1/completions and /v1/chat/completions');
  expect(target.engine.requests).toHaveLength(0);
});

test.each([
  ['left', 'lo there'],
  [undefined, 'lo there'],
  ['right', 'Hello th'],
])('truncation_side %s keeps %j', async (side, kept) => {
  const target = await server();
  const body = { prompt: 'Hello there', truncate_prompt_tokens: 8, truncation_side: side };
  await answerOf(await post(target, COMPLETIONS, body));
  expect(promptOf(target)).toBe(kept);
  const bad = { ...body, truncation_side: 'middle' };
  expect((await errorOf(await post(target, COMPLETIONS, bad), 400)).param).toBe('truncation_side');
});

describe('stream_interval', () => {
  const text = 'Once upon a time there was a fox.';

  test.each([
    [COMPLETIONS, { prompt: 'Hi', n: 2 }],
    [CHAT, { messages, n: 2 }],
  ])('of %s is how many tokens a chunk has, after the first', async (path, valid) => {
    const target = await server({ script: says(text) });
    const options = { stream: true, stream_interval: 10, return_token_ids: true };
    const body = { ...valid, ...options, max_tokens: 100 };
    const chunks = await chunksOf(await post(target, path, body));
    for (const index of [0, 1]) {
      const own = chunks.flatMap(({ choices }) => choices).filter((each) => each.index === index);
      const lengths = own.map((each) => each.token_ids?.length ?? 0).filter((length) => length > 0);
      expect(lengths).toEqual([1, 10, 10, 10, 3]);
      expect(own.map((each) => each.text ?? each.delta?.content ?? '').join('')).toBe(text);
    }
  });
});

test('the Open Inference Protocol fills in nothing', async () => {
  const target = await server({ fillsIn: true });
  const body = { text_input: 'Hi', parameters: { suffix: 'a' } };
  const response = await post(target, '/v2/models/org%2Ffake-model/generate', body);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('`suffix` is of /v1/completions');
});

describe('reasoning', () => {
  const thinks = { script: says('<think>Hm.</think>So.'), chatFormat };

  test('is left out with include_reasoning false, streamed or not, and counted', async () => {
    const target = await server(thinks);
    const body = { messages, include_reasoning: false };
    const whole = await answerOf(await post(target, CHAT, body));
    expect(whole.choices[0]?.message).toEqual({
      role: 'assistant',
      content: 'So.',
      refusal: null,
    });
    expect(whole.usage?.completion_tokens_details?.reasoning_tokens).toBe(3);
    const chunks = await chunksOf(await post(target, CHAT, { ...body, stream: true }));
    expect(JSON.stringify(chunks)).not.toMatch(/"reasoning(_content)?"/);
    const deltas = chunks
      .flatMap(({ choices }) => choices)
      .map(({ delta }) => delta?.content ?? '');
    expect(deltas.join('')).toBe('So.');
  });

  test.each([
    [CHAT, { messages, reasoning_effort: 'low' }, 'low'],
    [CHAT, { messages, reasoning_effort: 'none' }, false],
    [CHAT, { messages }, null],
    ['/v1/responses', { input: 'Hi', reasoning: { effort: 'high' } }, 'high'],
    [
      '/v1/messages',
      { messages, max_tokens: 9, output_config: { effort: 'low' }, thinking: { type: 'adaptive' } },
      'low',
    ],
    ['/v1/messages', { messages, max_tokens: 9, thinking: { type: 'adaptive' } }, true],
    [
      '/v1/messages',
      { messages, max_tokens: 9, output_config: { effort: 'low' }, thinking: { type: 'disabled' } },
      false,
    ],
    ['/api/chat', { messages, think: 'high' }, 'high'],
    ['/api/chat', { messages, think: false }, false],
    ['/tokenize', { messages, reasoning_effort: 'none' }, false],
  ])('effort of %s reaches the chat template: %j', async (path, body, thinking) => {
    const target = await server(thinks);
    const told: unknown[] = [];
    const { encodeChat } = target.runtime.prompts;
    target.runtime.prompts.encodeChat = (chat, options, caller) => {
      told.push(options.thinking ?? null);
      return encodeChat.call(target.runtime.prompts, chat, options, caller);
    };
    expect((await post(target, path, body)).status).toBe(200);
    expect(told).toEqual([thinking]);
  });
});
