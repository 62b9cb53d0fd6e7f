import { describe, expect, test } from 'vitest';
import type { TestServer } from './support/test-server.ts';
import { answerOf, chunksOf, eventsOf, post, textOf, type Answer } from './support/client.ts';
import { EOS_TOKEN_ID, MODEL, says, tokensOf, useServers } from './support/test-server.ts';

const server = useServers();

const APIS = [
  {
    path: '/v1/completions',
    valid: { prompt: 'Hi' },
    promptTokenIds: tokensOf('Hi'),
    idPrefix: 'cmpl-',
    object: 'text_completion',
    chunkObject: 'text_completion',
  },
  {
    path: '/v1/chat/completions',
    valid: { messages: [{ role: 'user', content: 'Hi' }] },
    promptTokenIds: tokensOf('user: Hi\nassistant: '),
    idPrefix: 'chatcmpl-',
    object: 'chat.completion',
    chunkObject: 'chat.completion.chunk',
  },
];

/** The usage of `numTokens` generated after `promptTokenIds`. */
function usageOf(promptTokenIds: readonly number[], numTokens: number) {
  return {
    prompt_tokens: promptTokenIds.length,
    completion_tokens: numTokens,
    total_tokens: promptTokenIds.length + numTokens,
    prompt_tokens_details: { cached_tokens: 0 },
  };
}

function contentOf({ choices }: Answer): string | undefined {
  return choices[0]?.text ?? choices[0]?.message?.content;
}

describe.each(APIS)('$path', ({ path, valid, promptTokenIds, idPrefix, object, chunkObject }) => {
  const ask = (target: TestServer, fields: object) => post(target, path, { ...valid, ...fields });

  test('answers in one piece', async () => {
    const answer = await answerOf(await ask(await server(), { max_tokens: 50 }));
    expect(answer).toMatchObject({ object, model: MODEL });
    expect(answer.id.startsWith(idPrefix)).toBe(true);
    expect(Math.abs(answer.created - Date.now() / 1000)).toBeLessThan(60);
    expect(contentOf(answer)).toBe('Hello there!');
    expect(answer.choices[0]).toMatchObject({ index: 0, finish_reason: 'stop', stop_reason: null });
    expect(answer.usage).toEqual(usageOf(promptTokenIds, 'Hello there!'.length + 1));
  });

  test('streams the same text in chunks of one id, with one finish', async () => {
    const chunks = await chunksOf(await ask(await server(), { stream: true, max_tokens: 50 }));
    expect(textOf(chunks)).toBe('Hello there!');
    const heads = chunks.map(({ id, created, model, object: kind }) =>
      JSON.stringify({ id, created, model, kind }),
    );
    expect(new Set(heads).size).toBe(1);
    expect(chunks[0]).toMatchObject({ object: chunkObject, model: MODEL });
    const finishReasons = chunks.map(({ choices }) => choices[0]?.finish_reason);
    expect(finishReasons.at(-1)).toBe('stop');
    expect(finishReasons.slice(0, -1).every((reason) => reason === null)).toBe(true);
    expect(chunks.some((chunk) => 'usage' in chunk)).toBe(false);
  });

  test('ends with length at max_tokens', async () => {
    const answer = await answerOf(await ask(await server(), { max_tokens: 5 }));
    expect(contentOf(answer)).toBe('Hello');
    expect(answer.choices[0]?.finish_reason).toBe('length');
    expect(answer.usage).toEqual(usageOf(promptTokenIds, 5));
  });

  test.each([false, true])('tells which string stopped it, stream: %s', async (stream) => {
    const fields = { stop: ['zz', 'the'], max_tokens: 50, stream };
    const response = await ask(await server(), fields);
    const chunks = stream ? await chunksOf(response) : [await answerOf(response)];
    const text = stream ? textOf(chunks) : chunks.map(contentOf).join('');
    expect(text).toBe('Hello ');
    const last = chunks.at(-1)?.choices[0];
    expect(last).toMatchObject({ finish_reason: 'stop', stop_reason: 'the' });
  });

  test('tells which token id stopped it', async () => {
    const [tokenId = -1] = tokensOf('t');
    const fields = { stop_token_ids: [tokenId], max_tokens: 50 };
    const answer = await answerOf(await ask(await server(), fields));
    expect(answer.choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: tokenId });
  });

  test('include_usage: null usage, then a chunk with the usage and no choices', async () => {
    const fields = { stream: true, stream_options: { include_usage: true }, max_tokens: 5 };
    const chunks = await chunksOf(await ask(await server(), fields));
    const last = chunks.at(-1);
    expect(last?.choices).toEqual([]);
    expect(last?.usage).toEqual(usageOf(promptTokenIds, 5));
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  });

  test('continuous_usage_stats rise with the tokens', async () => {
    const options = { include_usage: true, continuous_usage_stats: true };
    const fields = { stream: true, stream_options: options, max_tokens: 5 };
    const chunks = await chunksOf(await ask(await server(), fields));
    const counts = chunks.map((chunk) => chunk.usage?.completion_tokens);
    expect(counts).toEqual([...counts].sort((a, b) => (a ?? 0) - (b ?? 0)));
    expect(new Set(counts)).toEqual(new Set([...counts, 1, 2, 3, 4, 5]));
    expect(chunks.every((chunk) => chunk.usage?.prompt_tokens === promptTokenIds.length)).toBe(
      true,
    );
  });

  test.each([false, true])('return_token_ids gives every id once, stream: %s', async (stream) => {
    const fields = { stream, return_token_ids: true, max_tokens: 50 };
    const response = await ask(await server(), fields);
    const chunks = stream ? await chunksOf(response) : [await answerOf(response)];
    const tokenIds = chunks.flatMap(({ choices }) => choices[0]?.token_ids ?? []);
    expect(tokenIds).toEqual([...tokensOf('Hello there!'), EOS_TOKEN_ID]);
    const promptIds = chunks.flatMap(
      (chunk) => chunk.prompt_token_ids ?? chunk.choices[0]?.prompt_token_ids ?? [],
    );
    expect(promptIds).toEqual(promptTokenIds);
  });

  test('the ids of the last tokens come once too', async () => {
    const fields = { stream: true, return_token_ids: true, max_tokens: 5 };
    const chunks = await chunksOf(
      await ask(await server({ engine: { tokensPerBatch: 5 } }), fields),
    );
    const tokenIds = chunks.flatMap(({ choices }) => choices[0]?.token_ids ?? []);
    expect(tokenIds).toEqual(tokensOf('Hello'));
  });

  test('continuous_usage_stats alone ask for nothing', async () => {
    const fields = { stream: true, stream_options: { continuous_usage_stats: true } };
    const chunks = await chunksOf(await ask(await server(), fields));
    expect(chunks.some((chunk) => 'usage' in chunk)).toBe(false);
  });

  test('text held back makes no empty chunk', async () => {
    // Every `-` may begin the stop string, and is held back until it does not.
    const target = await server({ script: says('---a') });
    const chunks = await chunksOf(
      await ask(target, { stream: true, stop: '----', max_tokens: 50 }),
    );
    const texts = chunks.flatMap(
      ({ choices }) => choices[0]?.text ?? choices[0]?.delta?.content ?? [],
    );
    expect(texts.filter((text) => text !== '')).toEqual(['---a']);
    // The opening of a chat and the finish of a completion are the only ones without text.
    expect(texts.filter((text) => text === '')).toHaveLength(1);
  });
});

test('the first chat chunk has the role, the later ones have none', async () => {
  const chat = APIS.find(({ path }) => path.includes('chat'));
  const chunks = await chunksOf(
    await post(await server(), '/v1/chat/completions', { ...chat?.valid, stream: true }),
  );
  const deltas = chunks.map(({ choices }) => choices[0]?.delta);
  expect(deltas[0]).toEqual({ role: 'assistant', content: '' });
  expect(deltas.slice(1).some((delta) => delta !== undefined && 'role' in delta)).toBe(false);
  expect(deltas.at(-1)).toEqual({});
});

test('a failure in mid-stream is an error event, then [DONE]', async () => {
  const target = await server({
    *script() {
      yield* tokensOf('Hel');
      throw new Error('secret of the engine');
    },
  });
  const body = { prompt: 'Hi', stream: true };
  const events = await eventsOf(await post(target, '/v1/completions', body));
  expect(events.at(-1)).toBe('[DONE]');
  const error: unknown = JSON.parse(events.at(-2) ?? '');
  expect(error).toMatchObject({ error: { type: 'server_error', param: null } });
  expect(events.join()).not.toContain('secret');
  expect(events.length).toBe(5);
});
