import { describe, expect, test } from 'vitest';
import { observeAll } from '../../../src/front/generation/observe-all.ts';
import type { GenerationObserver } from '../../../src/front/generation/generation-observer.ts';
import { ServerTimings } from '../../../src/server/generation/server-timing.ts';
import { post } from '../support/client.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const ENTRIES = /^queue;dur=\d+\.\d, prefill;dur=\d+\.\d, decode;dur=\d+\.\d$/;

describe('Server-Timing', () => {
  test.each([
    ['/v1/completions', { prompt: 'Hi' }],
    ['/v1/completions', { prompt: 'Hi', n: 2 }],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/responses', { input: 'Hi' }],
    ['/v1/messages', { max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }],
  ])('tells how long each part took: %s %j', async (path, body) => {
    const response = await post(await server(), path, body);
    expect(response.headers.get('server-timing')).toMatch(ENTRIES);
  });

  test('of a stream is a comment at its end', async () => {
    const body = { prompt: 'Hi', stream: true };
    const text = await (await post(await server(), '/v1/completions', body)).text();
    expect(text).toMatch(/\n: server-timing queue;dur=[^\n]+\n\ndata: \[DONE\]\n\n$/);
  });

  test('tells the spans between what was observed', () => {
    const timings = new ServerTimings();
    const request = { promptTokenIds: new Int32Array(3) };
    const observe = observeAll(
      (asked) => timings.observe(asked),
      () => ({ queued() {}, admitted() {}, tokens() {}, finished() {} }),
    );
    const course = (shift: number): GenerationObserver => {
      // Only the prompt is looked at.
      const observer = observe(request as Parameters<typeof observe>[0]);
      observer.queued(100 + shift);
      observer.admitted(110 + shift);
      observer.tokens(1, 140 + shift);
      return observer;
    };
    const first = course(0);
    const second = course(5);
    expect(timings.header(request.promptTokenIds)).toBeNull();
    first.finished('stop', 200);
    second.finished('stop', 300);
    expect(timings.header(request.promptTokenIds)).toBe(
      'queue;dur=10.0, prefill;dur=30.0, decode;dur=160.0',
    );
  });
});
