import { describe, expect, test } from 'vitest';
import { THINK } from '../support/chat-formats.ts';
import { fakeLogprob } from '../support/fake-engine.ts';
import { answerOf, errorOf, post } from './support/client.ts';
import { babbles, tokensOf, useServers } from './support/test-server.ts';

const server = useServers();

const COMPLETIONS = '/v1/completions';
const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Hi' }];
const BEAMS = { use_beam_search: true, n: 3, max_tokens: 4, temperature: 0 };

/** The fake engine finds lower ids likelier, whatever the text. */
const LIKELIEST = String.fromCharCode(32);

describe.each([
  [COMPLETIONS, { prompt: 'Hi' }, 2],
  [CHAT, { messages }, 'user: Hi\nassistant: '.length],
])('%s', (path, valid, numPromptTokens) => {
  test('searches for n texts, the best first, and counts what it computes', async () => {
    const target = await server({ script: babbles });
    const answer = await answerOf(await post(target, path, { ...valid, ...BEAMS }));
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    const texts = answer.choices.map(({ text, message }) => text ?? message?.content);
    expect(texts[0]).toBe(LIKELIEST.repeat(4));
    expect(new Set(texts).size).toBe(3);
    expect(answer.choices.map((choice) => choice.finish_reason)).toEqual(Array(3).fill('length'));
    expect(answer.usage).toMatchObject({
      prompt_tokens: numPromptTokens,
      completion_tokens: 1 + 3 * 3,
    });
    expect(target.engine.requests).toHaveLength(10);
    expect(target.admission.running).toBe(0);
  });

  test('best_of is the width, and the n best are told', async () => {
    const target = await server({ script: babbles });
    const body = { ...valid, ...BEAMS, n: 1, best_of: 4 };
    const answer = await answerOf(await post(target, path, body));
    expect(answer.choices).toHaveLength(1);
    expect(answer.usage?.completion_tokens).toBe(1 + 3 * 4);
  });

  test.each([
    [{ stream: true }, 'stream'],
    [{ stop: ['a'] }, 'stop'],
    [{ logit_bias: { 3: 1 } }, 'logit_bias'],
    [{ allowed_token_ids: [3] }, 'allowed_token_ids'],
    [{ bad_words: ['a'] }, 'bad_words'],
    [{ repetition_penalty: 1.1 }, 'repetition_penalty'],
    [{ presence_penalty: 1 }, 'presence_penalty'],
    [{ frequency_penalty: 1 }, 'frequency_penalty'],
    [{ dry_multiplier: 1 }, 'dry_multiplier'],
    [{ prompt_logprobs: 1 }, 'prompt_logprobs'],
    [{ structured_outputs: { choice: ['a'] } }, 'use_beam_search'],
    [{ response_format: { type: 'json_object' } }, 'use_beam_search'],
    [{ use_beam_search: 'yes' }, 'use_beam_search'],
    [{ length_penalty: 11 }, 'length_penalty'],
    [{ length_penalty: 'long' }, 'length_penalty'],
    [{ early_stopping: 'soon' }, 'early_stopping'],
    [{ n: 60 }, 'use_beam_search'],
    [{ n: 129 }, 'n'],
    [{ n: 4, best_of: 3 }, 'best_of'],
  ])('refuses %j', async (fields, param) => {
    const target = await server({ script: babbles });
    const response = await post(target, path, { ...valid, ...BEAMS, ...fields });
    expect((await errorOf(response, 400)).param).toBe(param);
    expect(target.engine.requests).toHaveLength(0);
  });

  test('takes what does nothing in a search, and fields of a search where there is none', async () => {
    const neutral = {
      ...BEAMS,
      top_p: 0.5,
      top_k: 3,
      min_p: 0.1,
      seed: 5,
      stop: [],
      logit_bias: {},
      bad_words: [],
      repetition_penalty: 1,
      stream: false,
      stream_interval: 9,
      include_stop_str_in_output: true,
      early_stopping: 'never',
      length_penalty: -0.5,
    };
    const target = await server({ script: babbles });
    expect((await post(target, path, { ...valid, ...neutral })).status).toBe(200);
    const drawn = { ...valid, length_penalty: 2, early_stopping: true, max_tokens: 2 };
    expect((await post(target, path, drawn)).status).toBe(200);
  });

  test('is charged for its width, whatever it tells of it', async () => {
    const target = await server({
      script: babbles,
      config: { apiKeys: ['key-a'] },
      rates: { tokens: 100 },
    });
    const headers = { authorization: 'Bearer key-a' };
    const body = { ...valid, ...BEAMS, n: 1, best_of: 3 };
    expect((await post(target, path, { ...body, max_tokens: 20 }, { headers })).status).toBe(200);
    const numSpent = 1 + 3 * 19;
    const [used] = target.context.usage.list();
    expect(used).toMatchObject({ promptTokens: numPromptTokens, outputTokens: numSpent });
    // The rest is enough for one text, and not for three.
    const next = { ...body, max_tokens: Math.floor((100 - numPromptTokens - numSpent) / 3) };
    expect((await post(target, path, next, { headers })).status).toBe(429);
    expect(target.engine.requests).toHaveLength(numSpent);
    const { best_of: _width, ...narrow } = next;
    expect((await post(target, path, narrow, { headers })).status).toBe(
      numPromptTokens > 2 ? 429 : 200,
    );
  });
});

test('log-probabilities are those of the text that was found', async () => {
  const target = await server({ script: babbles });
  const body = { prompt: 'Hi', ...BEAMS, n: 2, logprobs: 2 };
  const { choices } = await answerOf(await post(target, COMPLETIONS, body));
  const likeliest = Array<number>(4).fill(fakeLogprob(0));
  expect(choices[0]).toMatchObject({ logprobs: { token_logprobs: likeliest } });
  // The text that was the likelier one before its last token, where two are as likely.
  const next = [...likeliest.slice(1), fakeLogprob(1)];
  expect(choices[1]).toMatchObject({ logprobs: { token_logprobs: next } });
});

test('stop tokens end a text, and are shown where they are asked for', async () => {
  const target = await server({ script: babbles });
  const [stop = 0] = tokensOf('!');
  const body = { prompt: 'Hi', ...BEAMS, n: 2, stop_token_ids: [stop], length_penalty: 0 };
  const hidden = await answerOf(await post(target, COMPLETIONS, body));
  expect(hidden.choices[0]).toMatchObject({ text: '', finish_reason: 'stop', stop_reason: stop });
  const shown = { ...body, include_stop_str_in_output: true };
  expect((await answerOf(await post(target, COMPLETIONS, shown))).choices[0]?.text).toBe('!');
});

test('prompts of one request are searched each on its own', async () => {
  const target = await server({ script: babbles });
  const body = { ...BEAMS, n: 2, prompt: ['Hi', 'Hello'] };
  const { choices } = await answerOf(await post(target, COMPLETIONS, body));
  expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
});

test('a chat whose thoughts the server bounds is refused, and tools may be called', async () => {
  const bounded = { chatFormat: { toolCalls: null, reasoning: THINK, reasoningBudget: 5 } };
  const target = await server({ script: babbles, ...bounded });
  const fields = { messages, ...BEAMS, thinking_token_budget: 4 };
  const error = await errorOf(await post(target, CHAT, fields), 400);
  expect(error.param).toBe('thinking_token_budget');
});

test('an echo goes before each text, but not with the prompt scored', async () => {
  const target = await server({ script: babbles });
  const body = { prompt: 'Hi', ...BEAMS, echo: true };
  const { choices } = await answerOf(await post(target, COMPLETIONS, body));
  expect(choices.every(({ text }) => text?.startsWith('Hi'))).toBe(true);
  const scored = await post(target, COMPLETIONS, { ...body, logprobs: 1 });
  expect((await errorOf(scored, 400)).param).toBe('echo');
  const nothing = await post(target, COMPLETIONS, { ...body, max_tokens: 0 });
  expect((await errorOf(nothing, 400)).param).toBe('max_tokens');
});
