import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { TopTokens } from '../../src/front/generation/token-logprob.ts';
import { fakeLogprob } from '../support/fake-engine.ts';
import { answerOf, chunksOf, errorOf, post, type Answer } from './support/client.ts';
import { babbles, EOS_TOKEN_ID, says, tokensOf, useServers } from './support/test-server.ts';
import { connect } from './support/web-socket.ts';

const server = useServers();

const COMPLETIONS = '/v1/completions';
const CHAT = '/v1/chat/completions';
const chat = { messages: [{ role: 'user', content: 'Hi' }] };

const completionLogprobs = z.strictObject({
  text_offset: z.array(z.number()),
  token_logprobs: z.array(z.number().nullable()),
  tokens: z.array(z.string()),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
});

const chatToken = { token: z.string(), logprob: z.number(), bytes: z.array(z.number()) };
const chatLogprobs = z.strictObject({
  content: z.array(
    z.strictObject({ ...chatToken, top_logprobs: z.array(z.strictObject(chatToken)) }),
  ),
  refusal: z.null(),
});

/** As the server gives it: in single precision. */
const logprobOf = (tokenId: number) => Math.fround(fakeLogprob(tokenId));

/** Logprobs of the first choice, over all chunks. */
function completionLogprobsOf(answers: readonly Answer[]) {
  const parts = answers
    .flatMap(({ choices }) => choices)
    .flatMap((choice) => completionLogprobs.nullable().parse(choice['logprobs']) ?? []);
  return {
    text_offset: parts.flatMap((part) => part.text_offset),
    token_logprobs: parts.flatMap((part) => part.token_logprobs),
    tokens: parts.flatMap((part) => part.tokens),
    top_logprobs: parts.flatMap((part) => part.top_logprobs),
  };
}

function chatContentOf(answers: readonly Answer[]) {
  return answers
    .flatMap(({ choices }) => choices)
    .flatMap((choice) => chatLogprobs.nullable().parse(choice['logprobs'])?.content ?? []);
}

async function answersOf(path: string, body: object, stream: boolean, text = 'Hello there!') {
  const target = await server({ script: says(text) });
  const response = await post(target, path, { ...body, stream });
  return stream ? chunksOf(response) : [await answerOf(response)];
}

describe.each([false, true])('completions, stream: %s', (stream) => {
  test('give tokens, their places, their log-probabilities and the likeliest', async () => {
    const body = { prompt: 'Hi', logprobs: 2, max_tokens: 5 };
    const found = completionLogprobsOf(await answersOf(COMPLETIONS, body, stream));
    const ids = tokensOf('Hello');
    expect(found.tokens.join('')).toBe('Hello');
    expect(found.text_offset).toEqual([0, 1, 2, 3, 4]);
    expect(found.token_logprobs).toEqual(ids.map(logprobOf));
    expect(found.top_logprobs).toEqual(
      Array.from('Hello', (token, index) => ({
        [token]: logprobOf(ids[index] ?? 0),
        ' ': logprobOf(0),
        '!': logprobOf(1),
      })),
    );
  });

  test('the token that ended it is there as well', async () => {
    const body = { prompt: 'Hi', logprobs: 0, max_tokens: 50 };
    const found = completionLogprobsOf(await answersOf(COMPLETIONS, body, stream, 'ab'));
    expect(found.tokens).toEqual(['a', 'b', '<|end|>']);
    expect(found.text_offset).toEqual([0, 1, 2]);
    expect(found.top_logprobs.map((top) => Object.keys(top ?? {}).length)).toEqual([1, 1, 1]);
  });

  test('echo gives the prompt first, its first token with nothing known', async () => {
    const body = { prompt: 'Hi', echo: true, logprobs: 1, max_tokens: 3 };
    const answers = await answersOf(COMPLETIONS, body, stream);
    const texts = answers.flatMap(({ choices }) => choices.map(({ text }) => text ?? ''));
    expect(texts.join('')).toBe('HiHel');
    const found = completionLogprobsOf(answers);
    expect(found.tokens).toEqual(['H', 'i', 'H', 'e', 'l']);
    expect(found.text_offset).toEqual([0, 1, 2, 3, 4]);
    const [first, ...rest] = tokensOf('HiHel');
    expect(first).toBeDefined();
    expect(found.token_logprobs).toEqual([null, ...rest.map(logprobOf)]);
    expect(found.top_logprobs[0]).toBeNull();
    expect(answers.at(-1)?.usage?.prompt_tokens ?? 2).toBe(2);
  });

  test('echo takes token ids, without log-probabilities too', async () => {
    const body = { prompt: tokensOf('Hi'), echo: true, max_tokens: 3 };
    const answers = await answersOf(COMPLETIONS, body, stream);
    const texts = answers.flatMap(({ choices }) => choices.map(({ text }) => text ?? ''));
    expect(texts.join('')).toBe('HiHel');
    expect(answers.every(({ choices }) => choices[0]?.['logprobs'] === null)).toBe(true);
  });

  test('max_tokens 0 with echo scores the prompt and nothing else', async () => {
    const options = stream ? { stream_options: { include_usage: true } } : {};
    const body = { prompt: ['Hi', 'you'], echo: true, logprobs: 0, max_tokens: 0, ...options };
    const answers = await answersOf(COMPLETIONS, body, stream);
    const choices = answers.flatMap((answer) => answer.choices);
    expect(choices.filter(({ index }) => index === 0).map(({ text }) => text)).toContain('Hi');
    const tokens = ['', ''];
    for (const { index, logprobs } of choices) {
      tokens[index] += completionLogprobs.nullable().parse(logprobs)?.tokens.join('') ?? '';
    }
    expect(tokens).toEqual(['Hi', 'you']);
    const finishes = choices.filter((choice) => choice.finish_reason !== null);
    expect(finishes.map((choice) => choice.finish_reason)).toEqual(['length', 'length']);
    expect(answers.at(-1)?.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 0 });
  });

  test('return_tokens_as_token_ids names tokens by their ids', async () => {
    const body = { prompt: 'x', logprobs: 1, max_tokens: 1, return_tokens_as_token_ids: true };
    const found = completionLogprobsOf(await answersOf(COMPLETIONS, body, stream));
    const [id = -1] = tokensOf('H');
    expect(found.tokens).toEqual([`token_id:${id}`]);
    expect(Object.keys(found.top_logprobs[0] ?? {})).toEqual([`token_id:${id}`, 'token_id:0']);
  });

  test('tokens whose text is held back come once all the same', async () => {
    // Every `-` may begin the stop string.
    const body = { prompt: 'x', logprobs: 0, max_tokens: 50, stop: '----' };
    const found = completionLogprobsOf(await answersOf(COMPLETIONS, body, stream, '---a'));
    expect(found.tokens).toEqual(['-', '-', '-', 'a', '<|end|>']);
    expect(found.text_offset).toEqual([0, 1, 2, 3, 4]);
  });
});

describe.each([false, true])('chat, stream: %s', (stream) => {
  test('gives the tokens of the content, with bytes and exactly the likeliest asked for', async () => {
    const body = { ...chat, logprobs: true, top_logprobs: 3 };
    const content = chatContentOf(await answersOf(CHAT, body, stream));
    expect(content.map(({ token }) => token).join('')).toBe('Hello there!');
    expect(Buffer.from(content.flatMap(({ bytes }) => bytes)).toString()).toBe('Hello there!');
    expect(content.map(({ logprob }) => logprob)).toEqual(tokensOf('Hello there!').map(logprobOf));
    for (const { logprob, top_logprobs: top } of content) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top.map(({ token }) => token)).toEqual([' ', '!', '"']);
      expect(top.map((entry) => entry.logprob)).toEqual([0, 1, 2].map(logprobOf));
    }
  });

  test('logprobs alone gives no others', async () => {
    const content = chatContentOf(await answersOf(CHAT, { ...chat, logprobs: true }, stream));
    expect(content).toHaveLength('Hello there!'.length);
    expect(content.every(({ top_logprobs: top }) => top.length === 0)).toBe(true);
  });

  test('with token ids there is an entry for each, the last included', async () => {
    const body = { ...chat, logprobs: true, return_token_ids: true };
    const answers = await answersOf(CHAT, body, stream, 'ab');
    const tokenIds = answers.flatMap(({ choices }) => choices[0]?.token_ids ?? []);
    expect(tokenIds).toEqual([...tokensOf('ab'), EOS_TOKEN_ID]);
    expect(chatContentOf(answers).map(({ token }) => token)).toEqual(['a', 'b', '<|end|>']);
  });

  test('echo goes on with the assistant’s last message', async () => {
    const messages = [...chat.messages, { role: 'assistant', content: 'Well, ' }];
    const fields = { add_generation_prompt: false, continue_final_message: true };
    const body = { messages, echo: true, ...fields };
    const answers = await answersOf(CHAT, body, stream);
    const texts = answers.map(
      ({ choices }) => choices[0]?.message?.content ?? choices[0]?.delta?.content ?? '',
    );
    expect(texts.join('')).toBe('Well, Hello there!');
    const silent = await answersOf(
      CHAT,
      { ...body, messages: chat.messages, ...fields, continue_final_message: false },
      stream,
    );
    expect(
      silent
        .map(({ choices }) => choices[0]?.message?.content ?? choices[0]?.delta?.content ?? '')
        .join(''),
    ).toBe('Hello there!');
  });
});

test.each([
  [COMPLETIONS, { prompt: 'Hi' }],
  [CHAT, chat],
])('%s gives prompt_logprobs by token id', async (path, valid) => {
  const [answer] = await answersOf(path, { ...valid, prompt_logprobs: 1 }, false);
  const list = answer?.['prompt_logprobs'] ?? answer?.choices[0]?.['prompt_logprobs'];
  const ids = path === CHAT ? tokensOf('user: Hi\nassistant: ') : tokensOf('Hi');
  const entry = (id: number, token: string) => ({
    logprob: logprobOf(id),
    rank: id + 1,
    decoded_token: token,
  });
  const texts = Array.from(path === CHAT ? 'user: Hi\nassistant: ' : 'Hi');
  const expected = ids.map((id, index) => ({
    0: entry(0, ' '),
    [id]: entry(id, texts[index] ?? ''),
  }));
  expect(list).toEqual([null, ...expected.slice(1)]);
});

test('log-probabilities are the same over a WebSocket as over HTTP', async () => {
  const target = await server();
  const body = { prompt: 'Hi', logprobs: 1, echo: true, max_tokens: 3 };
  const [whole] = [await answerOf(await post(target, COMPLETIONS, body))];
  const client = await connect(target, COMPLETIONS);
  client.send({ ...body, request_id: 'one' });
  const [frame] = await client.answer('one');
  expect(frame?.['choices']).toEqual(whole.choices);
  client.socket.close();
});

test('an impossible token has a log-probability that JSON can hold', async () => {
  const delta = {
    text: 'a',
    tokenIds: [1],
    finishReason: 'length' as const,
    stopReason: null,
    logprobs: [
      {
        tokenId: 1,
        logprob: -0.5,
        rank: 1,
        top: new TopTokens([2], [-Infinity]),
        textOffset: 0,
        isShown: true,
      },
    ],
  };
  const target = await server({
    generator: {
      async *generate() {
        yield delta;
      },
    },
  });
  const body = { prompt: 'Hi', logprobs: 1 };
  const found = completionLogprobsOf([await answerOf(await post(target, COMPLETIONS, body))]);
  expect(found.top_logprobs).toEqual([{ '!': -0.5, '"': -9999 }]);
});

test.each([
  [COMPLETIONS, { prompt: 'Hi', logprobs: 20 }],
  [CHAT, { ...chat, logprobs: true, top_logprobs: 20 }],
])('%s has a bound on log-probabilities in one piece, not in a stream', async (path, body) => {
  const target = await server({ script: babbles, maxQueue: 16 });
  // 16 choices of 200 tokens, each with itself and 20 others: 67,200.
  const many = { ...body, n: 16, max_tokens: 200 };
  expect(await errorOf(await post(target, path, many), 400)).toMatchObject({
    param: 'logprobs',
    code: 'too_many_logprobs',
  });
  expect((await post(target, path, { ...many, n: 15 })).status).toBe(200);
  expect(await chunksOf(await post(target, path, { ...many, stream: true }))).not.toHaveLength(0);
  await expect.poll(() => target.engine.running).toBe(0);
});
