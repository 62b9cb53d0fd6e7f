import { describe, expect, test, vi } from 'vitest';
import type { EngineRequest } from '../../src/engine/request.ts';
import { fakeLogprob } from '../support/fake-engine.ts';
import { answerOf, chunksOf, errorOf, eventsOf, post, type Answer } from './support/client.ts';
import { babbles, tokensOf, useServers } from './support/test-server.ts';
import { connect } from './support/web-socket.ts';

const server = useServers();

const COMPLETIONS = '/v1/completions';
const CHAT = '/v1/chat/completions';
const APIS = [
  { path: COMPLETIONS, valid: { prompt: 'Hi' }, numPromptTokens: 2 },
  {
    path: CHAT,
    valid: { messages: [{ role: 'user', content: 'Hi' }] },
    numPromptTokens: 'user: Hi\nassistant: '.length,
  },
];

/** Says a text that tells prompt and seed, and ends. */
function identifies(promptTokenIds: Int32Array, { sampling }: Omit<EngineRequest, 'id'>) {
  return tokensOf(`${promptTokenIds.length}/${sampling.seed % 1000n}`);
}

function textsOf(answer: Answer): (string | undefined)[] {
  return answer.choices.map(({ text, message }) => text ?? message?.content);
}

/** Sum of each choice's chunks. */
function streamedTexts(chunks: readonly Answer[]): string[] {
  const texts: string[] = [];
  for (const { index, text, delta } of chunks.flatMap(({ choices }) => choices)) {
    texts[index] = (texts[index] ?? '') + (text ?? delta?.content ?? '');
  }
  return texts;
}

describe.each(APIS)('$path', ({ path, valid, numPromptTokens }) => {
  const body = { ...valid, seed: 5, n: 3, max_tokens: 50 };

  test('n choices, each with an index, a text and a finish of its own', async () => {
    const target = await server({ script: identifies });
    const answer = await answerOf(await post(target, path, body));
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(answer.choices.map((choice) => choice.finish_reason)).toEqual(['stop', 'stop', 'stop']);
    const texts = textsOf(answer);
    expect(texts[0]).toBe(`${numPromptTokens}/5`);
    expect(new Set(texts).size).toBe(3);
    expect(textsOf(await answerOf(await post(target, path, body)))).toEqual(texts);
    const alone = await answerOf(await post(target, path, { ...body, n: 1 }));
    expect(textsOf(alone)).toEqual([texts[0]]);
  });

  test('the prompt counts once, the output of every choice', async () => {
    const target = await server({ script: babbles, engine: { numCachedTokens: 2 } });
    const answer = await answerOf(await post(target, path, { ...body, max_tokens: 4 }));
    expect(answer.usage).toEqual({
      prompt_tokens: numPromptTokens,
      completion_tokens: 12,
      total_tokens: numPromptTokens + 12,
      prompt_tokens_details: { cached_tokens: 2 },
    });
  });

  test('streamed: the same texts, one finish for each, one usage for all', async () => {
    const target = await server({ script: identifies });
    const texts = textsOf(await answerOf(await post(target, path, body)));
    const options = { include_usage: true, continuous_usage_stats: true };
    const fields = { ...body, stream: true, stream_options: options };
    const chunks = await chunksOf(await post(target, path, fields));
    expect(streamedTexts(chunks)).toEqual(texts);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    const finishes = chunks.flatMap(({ choices }) =>
      choices.filter((choice) => choice.finish_reason !== null).map(({ index }) => index),
    );
    expect(finishes.toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
    expect(chunks.filter(({ choices }) => choices.length === 0)).toHaveLength(1);
    const totals = chunks.map(({ usage }) => usage?.total_tokens ?? 0);
    expect(totals).toEqual([...totals].sort((a, b) => a - b));
    expect(chunks.at(-1)?.usage?.completion_tokens).toBe(texts.join('').length + 3);
  });

  test('over a WebSocket as over HTTP', async () => {
    const target = await server({ script: identifies });
    const texts = textsOf(await answerOf(await post(target, path, body)));
    const client = await connect(target, path);
    client.send({ ...body, request_id: 'one' });
    client.send({ ...body, request_id: 'two', stream: true });
    const [whole] = await client.answer('one');
    expect(whole?.['choices']).toMatchObject(texts.map((_, index) => ({ index })));
    const frames = (await client.answer('two')).filter((frame) => 'choices' in frame);
    expect(streamedTexts(frames as unknown as Answer[])).toEqual(texts);
    client.socket.close();
  });

  test('best_of answers with the likeliest by mean log-probability', async () => {
    let numStarted = 0;
    const letters = ['zzz', 'az', 'b', 'yyyyyyy'];
    const target = await server({ script: () => tokensOf(letters[numStarted++ % 4] ?? '') });
    const fields = { ...body, n: 2, best_of: 4, ignore_eos: true };
    const answer = await answerOf(await post(target, path, fields));
    const mean = (text: string) =>
      tokensOf(text).reduce((sum, id) => sum + fakeLogprob(id), 0) / text.length;
    const best = [...letters].sort((a, b) => mean(b) - mean(a)).slice(0, 2);
    expect(textsOf(answer)).toEqual(best);
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(answer.choices.every((choice) => choice['logprobs'] === null)).toBe(true);
    expect(answer.usage?.completion_tokens).toBe(letters.join('').length);
  });

  test('more sequences than there can be places is refused, and none is run', async () => {
    const target = await server({ maxSequencesPerRequest: 2 });
    const error = await errorOf(await post(target, path, body), 400);
    expect(error).toMatchObject({ param: 'n', type: 'invalid_request_error' });
    expect(error.message).toContain('3 sequences');
    expect(target.engine.requests).toHaveLength(0);
  });

  test.each([false, true])('a full queue refuses all of them, stream: %s', async (stream) => {
    const target = await server({ script: babbles, concurrency: 2, maxQueue: 0 });
    await errorOf(await post(target, path, { ...body, stream }), 429);
    await vi.waitFor(() => expect(target.admission.running).toBe(0));
    await answerOf(await post(target, path, { ...body, n: 2 }));
  });

  test('a client that goes away frees all rows', async () => {
    const target = await server({ script: babbles, engine: { heldAfter: 1 } });
    const abort = new AbortController();
    const fields = { ...body, stream: true, max_tokens: 200 };
    const response = await post(target, path, fields, { signal: abort.signal });
    await response.body?.getReader().read();
    await vi.waitFor(() => expect(target.engine.running).toBe(3));
    abort.abort();
    await vi.waitFor(() => expect(target.engine).toMatchObject({ running: 0, aborted: 3 }));
  });

  test('when one choice fails, one error ends the stream', async () => {
    let numStarted = 0;
    const target = await server({
      *script() {
        const isSecond = ++numStarted === 2;
        yield* tokensOf('Hel');
        if (isSecond) throw new Error('secret of the engine');
        yield* babbles();
      },
    });
    const events = await eventsOf(await post(target, path, { ...body, stream: true }));
    expect(events.at(-1)).toBe('[DONE]');
    expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ error: { type: 'server_error' } });
    expect(events.filter((event) => event.includes('"error"'))).toHaveLength(1);
    await vi.waitFor(() => expect(target.engine.running).toBe(0));
  });
});

describe('a list of prompts', () => {
  const prompts = [
    ['a', 'bcd'],
    [tokensOf('a'), tokensOf('bcd')],
  ];

  test.each(prompts)('%j, %j: choices in order, prompts summed up', async (...prompt) => {
    const target = await server({ script: identifies });
    const body = { prompt, n: 2, seed: 1, max_tokens: 50 };
    const answer = await answerOf(await post(target, COMPLETIONS, body));
    const texts = textsOf(answer);
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(texts.map((text) => text?.split('/')[0])).toEqual(['1', '1', '3', '3']);
    expect([texts[0], texts[2]]).toEqual(['1/1', '3/1']);
    expect(answer.usage?.prompt_tokens).toBe(4);
    const chunks = await chunksOf(await post(target, COMPLETIONS, { ...body, stream: true }));
    expect(streamedTexts(chunks)).toEqual(texts);
  });

  test('each choice has the ids of its own prompt', async () => {
    const target = await server({ script: identifies });
    const body = { prompt: ['a', 'bcd'], n: 2, return_token_ids: true };
    const expected = ['a', 'a', 'bcd', 'bcd'].map(tokensOf);
    const answer = await answerOf(await post(target, COMPLETIONS, body));
    expect(answer.choices.map((choice) => choice.prompt_token_ids)).toEqual(expected);
    const chunks = await chunksOf(await post(target, COMPLETIONS, { ...body, stream: true }));
    const found: unknown[] = [];
    for (const choice of chunks.flatMap(({ choices }) => choices)) {
      if (choice.prompt_token_ids) found[choice.index] = choice.prompt_token_ids;
    }
    expect(found).toEqual(expected);
  });
});

test('the tokens found in the cache are told, streamed and not', async () => {
  const target = await server({ engine: { numCachedTokens: 3 } });
  const details = { prompt_tokens_details: { cached_tokens: 3 } };
  const body = { prompt: 'Hello' };
  expect((await answerOf(await post(target, COMPLETIONS, body))).usage).toMatchObject(details);
  const fields = { ...body, stream: true, stream_options: { include_usage: true } };
  const chunks = await chunksOf(await post(target, COMPLETIONS, fields));
  expect(chunks.at(-1)?.usage).toMatchObject(details);
});
