import { describe, expect, it } from 'vitest';
import type { PromptEncoderOptions } from '../../src/front/prompts/prompt-encoder.ts';
import { TaskError } from '../../src/front/prompts/fair-pool.ts';
import { errorOf, post } from './support/client.ts';
import { useServers } from './support/test-server.ts';

const server = useServers();
const LONG = 'x'.repeat(5000);
const PATHS = [
  ['/v1/completions', { prompt: LONG }],
  ['/v1/chat/completions', { messages: [{ role: 'user', content: LONG }] }],
  ['/v1/responses', { input: LONG }],
  ['/v1/messages', { messages: [{ role: 'user', content: LONG }], max_tokens: 1 }],
  ['/tokenize', { prompt: LONG }],
] as const;

/** Threads in which every prompt comes to no more than this. */
const FIT: PromptEncoderOptions['pool'] = {
  run: async () => [{ text: LONG, tokenIds: Int32Array.of(1, 2, 3) }],
};

describe.each(PATHS)('a long prompt to %s', (path, body) => {
  it('is made in a thread', async () => {
    const response = await post(await server({ promptPool: FIT }), path, body);
    expect({ status: response.status }).toEqual({ status: 200 });
  });

  it('fails alone with its thread', async () => {
    let numRuns = 0;
    const promptPool: typeof FIT = {
      run: (...job) => {
        if (numRuns++ === 0) throw new TaskError('out of memory');
        return FIT.run(...job);
      },
    };
    const target = await server({ promptPool });
    const failed = await post(target, path, body);
    expect(failed.status).toBe(500);
    expect(await failed.text()).not.toContain('out of memory');
    expect((await post(target, path, body)).status).toBe(200);
  });
});

it('refuses what the queue has no room for before its prompt is made', async () => {
  const pending: AbortSignal[] = [];
  const promptPool: typeof FIT = {
    run: (_, { signal }) => {
      pending.push(signal);
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    },
  };
  const target = await server({ promptPool, concurrency: 1, maxQueue: 1 });
  const gone = new AbortController();
  const send = (signal?: AbortSignal) =>
    post(target, '/v1/completions', { prompt: LONG }, signal === undefined ? {} : { signal });
  const waiting = [send(gone.signal), send(gone.signal)];
  await expect.poll(() => target.admission.waiting).toBe(2);
  const refused = await send();
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  await errorOf(refused, 429);
  expect(pending).toHaveLength(2);
  gone.abort();
  await Promise.all(waiting.map((request) => expect(request).rejects.toThrow(/abort/)));
  await expect.poll(() => target.admission.waiting).toBe(0);
  expect(target.engine.requests).toHaveLength(0);
});
