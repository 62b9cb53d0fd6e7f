/** Random frames over WebSocket: the socket stays, and the next good request is answered. */
import { once } from 'node:events';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startServer, type TestServer } from '../server/support/test-server.ts';
import { mutated } from './support/mutations.ts';

const NUM_RUNS = Number(process.env['CHAIRLIFT_FUZZ_RUNS'] ?? 20);
const TIMEOUT_MS = 60_000 + NUM_RUNS * 200;

const user = [{ role: 'user', content: 'Hi' }];

const PROTOCOLS = [
  [
    '/v1/chat/completions',
    { request_id: 'good', messages: user, max_tokens: 4 },
    /"request_id":"good","type":"done"/,
  ],
  [
    '/v1/responses',
    { type: 'response.create', input: 'Hi', max_output_tokens: 4 },
    /"type":"response\.(completed|incomplete)"/,
  ],
] as const;

const givenUrl = process.env['CHAIRLIFT_FUZZ_URL'];
let server: TestServer | undefined;

beforeAll(async () => {
  if (givenUrl === undefined) server = await startServer();
});

afterAll(async () => {
  await server?.close();
});

describe.each(PROTOCOLS)('%s', (path, good, last) => {
  const frames = fc.oneof(
    mutated(fc.constant(good)).map((body) => JSON.stringify(body) ?? ''),
    fc.string({ maxLength: 40 }),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.uint8Array({ maxLength: 40 }),
  );

  test(
    'any frames',
    async () => {
      const property = fc.asyncProperty(fc.array(frames, { maxLength: 8 }), async (list) => {
        const url = (givenUrl ?? server?.url ?? '').replace('http', 'ws');
        const socket = new WebSocket(`${url}${path}`);
        await once(socket, 'open');
        const received: string[] = [];
        socket.on('message', (data: Buffer) => received.push(data.toString('utf8')));
        for (const frame of list) {
          socket.send(frame);
          // Each is answered before the next, so that `good` is free again and no queue fills.
          if (received.length === 0) await Promise.race([once(socket, 'message'), pause()]);
        }
        received.length = 0;
        socket.send(JSON.stringify(good));
        while (!received.some((text) => last.test(text))) await once(socket, 'message');
        expect(socket.readyState).toBe(WebSocket.OPEN);
        expect(received.join('')).not.toMatch(/"(server_error|internal_error)"/);
        socket.close();
      });
      await fc.assert(property, { numRuns: NUM_RUNS });
    },
    TIMEOUT_MS,
  );
});

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
