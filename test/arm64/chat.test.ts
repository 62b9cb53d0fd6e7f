/** A server as users start it, with ARM64's Node.js and ONNX Runtime, and our kernels for NEON with i8mm. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stream } from '../support/http-client.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

let cache: Awaited<ReturnType<typeof temporaryCache>>;
let server: ServerProcess;

beforeAll(async () => {
  cache = await temporaryCache();
  server = await startServer(['--precision', 'int8', '--warmup', 'off'], cache.env);
});
afterAll(async () => {
  await server?.stop();
  await cache?.remove();
});

it('answers a chat', async () => {
  expect(server.output()).toContain('our own, i8mm');
  const answer = await stream(`${server.url}/v1/chat/completions`, {
    messages: [{ role: 'user', content: 'What is 23 + 45?' }],
    temperature: 0,
    max_tokens: 20,
  });
  expect(answer).toMatchObject({ done: true, text: '23 + 45 = 68.' });
});
