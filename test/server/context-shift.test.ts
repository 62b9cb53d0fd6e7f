/** `--context-shift`: answers that go on beyond the context, and those that do not. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LIMITS } from '../../src/limits.ts';
import { errorOf, eventsOf, post } from './support/client.ts';
import { babbles, MODEL, type TestServer, tokensOf, useServers } from './support/test-server.ts';

const server = useServers();
const LENGTH = 32;
const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Hi' }];

const start = (): Promise<TestServer> =>
  server({
    script: babbles,
    maxModelLen: LENGTH,
    contextShift: { bosTokenId: tokensOf('<')[0] ?? 0 },
  });

function promptsOf({ engine, runtime }: TestServer): string[] {
  return engine.requests.map(({ promptTokenIds }) =>
    runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false }),
  );
}

describe('with --context-shift', () => {
  test('/completion goes on, says so, and counts', async () => {
    const target = await start();
    const prompt = 'abcdefgh';
    const body = { prompt, n_predict: 60, n_keep: 4, ignore_eos: true };
    const answer = await (await post(target, '/completion', body)).json();
    expect(answer).toMatchObject({
      content: 'x'.repeat(60),
      truncated: true,
      stop_type: 'limit',
      tokens_predicted: 60,
      tokens_evaluated: 8,
    });
    // Four of 32 tokens stay, and 14 of the others.
    const kept = `abcd${'x'.repeat(14)}`;
    expect(promptsOf(target)).toEqual([prompt, kept, kept, kept]);
    expect(target.engine.requests.map(({ maxTokens }) => maxTokens)).toEqual([24, 14, 14, 8]);
  });

  test('what fits is as without it', async () => {
    const target = await start();
    const body = { prompt: 'abcd', n_predict: 28, n_keep: 30, ignore_eos: true };
    expect(await (await post(target, '/completion', body)).json()).toMatchObject({
      truncated: false,
      tokens_predicted: 28,
    });
    expect(target.engine.requests).toHaveLength(1);
    // Open lengths end with the context.
    const open = { prompt: 'abcd', n_predict: -1, ignore_eos: true };
    expect(await (await post(target, '/completion', open)).json()).toMatchObject({
      truncated: false,
      tokens_predicted: 28,
    });
  });

  test.each([
    ['n_keep of -1', { n_keep: -1 }, 'abcdefgh'],
    ['no n_keep', {}, ''],
  ])('%s', async (_name, fields, kept) => {
    const target = await start();
    const body = { prompt: 'abcdefgh', n_predict: 26, ignore_eos: true, ...fields };
    await (await post(target, '/completion', body)).json();
    const left = (LENGTH - kept.length) / 2;
    const rest = `abcdefgh${'x'.repeat(24)}`.slice(-left);
    expect(promptsOf(target)).toEqual(['abcdefgh', kept + rest]);
  });

  test('the token that prompts begin with stays, beside n_keep', async () => {
    const target = await start();
    const body = { prompt: '<abcdefg', n_predict: 26, n_keep: 1, ignore_eos: true };
    await (await post(target, '/completion', body)).json();
    expect(promptsOf(target)[1]?.slice(0, 3)).toBe('<ax');
  });

  test('streams one text, over chats too, for each of several choices', async () => {
    const target = await start();
    const body = { model: MODEL, messages, max_tokens: 70, ignore_eos: true, n: 2, stream: true };
    const events = await eventsOf(
      await post(target, CHAT, { ...body, stream_options: { include_usage: true } }),
    );
    const told = events
      .filter((event) => event !== '[DONE]')
      .map((event) => chunk.parse(JSON.parse(event)));
    for (const index of [0, 1]) {
      const own = told.flatMap(({ choices }) => choices.filter((one) => one.index === index));
      expect(own.map(({ delta }) => delta.content ?? '').join('')).toBe('x'.repeat(70));
      expect(own.flatMap(({ finish_reason: reason }) => reason ?? [])).toEqual(['length']);
    }
    expect(told.at(-1)?.usage).toMatchObject({ completion_tokens: 140 });
  });

  test('log-probabilities come with each token once', async () => {
    const target = await start();
    const body = { prompt: 'abcd', max_tokens: 50, ignore_eos: true, logprobs: 1 };
    const answer = (await (await post(target, '/v1/completions', body)).json()) as {
      choices: { logprobs: { tokens: string[]; text_offset: number[] } }[];
    };
    const { tokens, text_offset: offsets } = answer.choices[0]?.logprobs ?? {};
    expect(tokens).toHaveLength(50);
    expect(offsets).toEqual(Array.from({ length: 50 }, (_, at) => at));
  });

  test.each([
    ['`structured_outputs.regex`', { structured_outputs: { regex: 'x*' } }],
    ['`use_beam_search`', { use_beam_search: true, n: 2 }],
    ['`prompt_logprobs`', { prompt_logprobs: 0 }],
    ['`bad_words`', { bad_words: ['y'] }],
  ])('%s is refused by name beyond the context, and taken within', async (name, fields) => {
    const target = await start();
    const body = { prompt: 'abcd', ignore_eos: !('use_beam_search' in fields), ...fields };
    const error = await errorOf(
      await post(target, '/v1/completions', { ...body, max_tokens: 29 }),
      400,
    );
    expect(error).toMatchObject({ param: 'max_tokens', code: 'context_length_exceeded' });
    expect(error.message).toContain(`With ${name} an answer does not go on beyond it`);
    expect(target.engine.requests).toHaveLength(0);
  });

  test('so are more contexts than may be, and a beginning that leaves too little room', async () => {
    const target = await start();
    const most = LIMITS.shiftedContexts * LENGTH;
    const long = { prompt: 'abcd', max_tokens: most + 1 };
    expect((await errorOf(await post(target, '/v1/completions', long), 400)).message).toContain(
      `at most ${most} tokens`,
    );
    const kept = { prompt: 'abcd', max_tokens: 40, n_keep: 17 };
    expect(await errorOf(await post(target, '/v1/completions', kept), 400)).toMatchObject({
      param: 'n_keep',
    });
    const whole = { prompt: 'x'.repeat(32), max_tokens: 4 };
    expect(await errorOf(await post(target, '/v1/completions', whole), 400)).toMatchObject({
      param: 'prompt',
      code: 'context_length_exceeded',
    });
  });
});

test('without it an answer that does not fit is refused', async () => {
  const target = await server({ script: babbles, maxModelLen: LENGTH });
  const body = { prompt: 'abcd', max_tokens: 29, n_keep: 4 };
  expect(await errorOf(await post(target, '/v1/completions', body), 400)).toMatchObject({
    param: 'max_tokens',
    code: 'context_length_exceeded',
  });
});

const chunk = z.looseObject({
  choices: z.array(
    z.looseObject({
      index: z.number(),
      delta: z.looseObject({ content: z.string().optional() }),
      finish_reason: z.string().nullable(),
    }),
  ),
  usage: z.looseObject({ completion_tokens: z.number() }).nullish(),
});
