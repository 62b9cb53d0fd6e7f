import { expect, test } from 'vitest';
import { resumableStream } from '../../src/client/resumable-stream.ts';

const EVENT = 'id: 1;0:1\ndata: {"n": 1}\n\n';

/** A server that is gone after its first event, and back after so many attempts. */
function serverGoneFor(numAttempts: number) {
  let asked = 0;
  const send = async () => {
    asked += 1;
    if (asked === 1) return new Response(EVENT, { headers: { 'x-resume-token': 'token' } });
    if (asked <= numAttempts) throw new TypeError('no server');
    return new Response('data: [DONE]\n\n');
  };
  return { send: send as typeof fetch, asked: () => asked };
}

test('attempts are no further apart than wanted', async () => {
  const { send, asked } = serverGoneFor(20);
  const begun = performance.now();
  const patient = resumableStream({ fetch: send, attempts: 40, backoffMs: 4, maxBackoffMs: 4 });
  const response = await patient('http://server/', { method: 'POST', body: '{}' });
  expect(await response.text()).toContain('[DONE]');
  expect(asked()).toBe(21);
  // Doubled each time, it would be an hour.
  expect(performance.now() - begun).toBeLessThan(10_000);
});

test('a stream fails when all attempts have', async () => {
  const { send, asked } = serverGoneFor(Infinity);
  const response = await resumableStream({ fetch: send, attempts: 3, backoffMs: 1 })('http://s/', {
    method: 'POST',
    body: '{}',
  });
  await expect(response.text()).rejects.toThrow('no server');
  expect(asked()).toBe(4);
});
