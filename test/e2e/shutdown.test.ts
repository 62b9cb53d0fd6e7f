/** How a server ends: with what runs, or without it. */
import { afterAll, describe, expect, it } from 'vitest';
import { metric, post, stream } from '../support/http-client.ts';
import { until } from '../support/processes.ts';
import { startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const question = { messages: [{ role: 'user', content: 'What is 23 + 45?' }], temperature: 0 };
const story = (topic: string) => ({
  messages: [{ role: 'user', content: `Tell me a story about ${topic}.` }],
  temperature: 0,
  max_tokens: 200,
  ignore_eos: true,
});

describe('shutdown', () => {
  it('lets running streams finish, refuses new ones, and exits with 0', async () => {
    const server = await startServer(['--shutdown-timeout', '100'], cache.env);
    const chat = `${server.url}/v1/chat/completions`;
    const underWay = new Set<number>();
    const streams = Array.from({ length: 16 }, (_, index) =>
      stream(chat, { ...story(`the number ${index}`), max_tokens: 300 }, () => underWay.add(index)),
    );
    await until(() => underWay.size === 16, 'every stream under way');
    const stopped = server.stop('SIGTERM');
    await until(async () => (await fetch(`${server.url}/ready`)).status === 503, '503');
    const refused = await post(chat, question);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    for (const { done, finishReason } of await Promise.all(streams)) {
      expect({ done, finishReason }).toEqual({ done: true, finishReason: 'length' });
    }
    expect(await stopped).toBe(0);
  });

  it('cuts what takes longer than --shutdown-timeout', async () => {
    const server = await startServer(['--shutdown-timeout', '0'], cache.env);
    const chat = `${server.url}/v1/chat/completions`;
    const running = stream(chat, { ...story('for ever'), max_tokens: 1900 }).catch(() => null);
    await until(
      async () => (await metric(server.url, 'chairlift_num_requests_running')) === 1,
      'a running request',
    );
    expect(await server.stop('SIGTERM')).toBe(0);
    await running;
  });
});
