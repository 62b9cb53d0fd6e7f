/**
 * Random and hostile frames over WebSocket: never a server error, never more than 50 ms of the front's
 * CPU time, and the next good request is answered, over a new socket where this one was closed for
 * what it sent.
 */
import { once } from 'node:events';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { documentedBodies } from '../../src/server/openapi/documented-bodies.ts';
import { MAX_FUZZED_CHARACTERS, withinBudget } from './support/budget.ts';
import { fuzzedServer, type FuzzedServer } from './support/fuzzed-server.ts';
import { hostileBodies } from './support/hostile-bodies.ts';
import { mutated } from './support/mutations.ts';
import { withLimits } from './support/short-answers.ts';

const NUM_RUNS = Number(process.env['CHAIRLIFT_FUZZ_RUNS'] ?? 20);
/** Everybody's run is the same each time; long ones look for what is new. */
const RUNS = {
  numRuns: NUM_RUNS,
  ...(process.env['CHAIRLIFT_FUZZ_RUNS'] === undefined && { seed: 20_261_122 }),
};
const TIMEOUT_MS = 60_000 + NUM_RUNS * 1000;
const HANG_MS = 20_000;
/** Code that closes a socket that sent what it must not. */
const POLICY_VIOLATION = 1008;

const user = [{ role: 'user', content: 'Hi' }];

const PROTOCOLS = [
  [
    '/v1/chat/completions',
    { max_tokens: 4 },
    { request_id: 'good', messages: user },
    /"request_id":"good","type":"done"/,
    Object.keys(documentedBodies.chatCompletions.shape),
  ],
  [
    '/v1/completions',
    { max_tokens: 4 },
    { request_id: 'good', prompt: 'Hi' },
    /"request_id":"good","type":"done"/,
    Object.keys(documentedBodies.completions.shape),
  ],
  [
    '/v1/responses',
    { max_output_tokens: 4 },
    { type: 'response.create', input: 'Hi' },
    /"type":"response\.(completed|incomplete)"/,
    Object.keys(documentedBodies.responses.shape),
  ],
] as const;

let server: FuzzedServer;

beforeAll(async () => {
  server = await fuzzedServer(process.env['CHAIRLIFT_FUZZ_URL']);
});

afterAll(async () => {
  await server.stop();
});

describe.each(PROTOCOLS)('%s', (path, limits, asked, last, names) => {
  const good = { ...asked, ...limits };
  const frames = fc.oneof(
    mutated(fc.constant(good)).map((body) => JSON.stringify(body) ?? ''),
    hostileBodies(good, names),
    fc.string({ maxLength: 40 }),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.uint8Array({ maxLength: 40 }),
  );
  const lists = fc
    .array(frames, { maxLength: 8 })
    .filter((list) => list.reduce((sum, { length }) => sum + length, 0) <= MAX_FUZZED_CHARACTERS);

  async function open(): Promise<Talk> {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`);
    await once(socket, 'open');
    return new Talk(socket);
  }

  test(
    'any frames are answered at once, without a fault of ours',
    async () => {
      const property = fc.asyncProperty(lists, (list) =>
        withinBudget(server, async () => {
          const talk = await open();
          for (const frame of list) await talk.send(withLimits(frame, limits));
          const closedWith = await talk.ask(good, last);
          talk.socket.terminate();
          expect(talk.received.join('')).not.toMatch(/"(server_error|internal_error)"/);
          if (closedWith === null) return;
          expect(closedWith).toBe(POLICY_VIOLATION);
          const another = await open();
          expect(await another.ask(good, last)).toBeNull();
          another.socket.terminate();
        }),
      );
      await fc.assert(property, RUNS);
    },
    TIMEOUT_MS,
  );
});

/** One socket and all that came over it. */
class Talk {
  readonly received: string[] = [];
  readonly socket: WebSocket;
  #closedWith: number | null = null;
  #onNews = (): void => {};

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => {
      this.received.push(data.toString('utf8'));
      this.#onNews();
    });
    socket.on('close', (code) => {
      this.#closedWith = code;
      this.#onNews();
    });
  }

  /** Each is answered before the next, if it is soon, so that `good` is free again and no queue fills. */
  async send(frame: string | Uint8Array): Promise<void> {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    this.socket.send(frame);
    if (this.received.length === 0) await Promise.race([this.#news(), after(5)]);
  }

  /** @returns null once what is `last` has come, or what the socket was closed with instead */
  async ask(good: object, last: RegExp): Promise<number | null> {
    const from = this.received.length;
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(good));
    const deadline = after(HANG_MS).then(() => 'late' as const);
    while (
      this.#closedWith === null &&
      !this.received.slice(from).some((text) => last.test(text))
    ) {
      if ((await Promise.race([this.#news(), deadline])) === 'late') {
        throw new Error(`no answer in ${HANG_MS} ms`);
      }
    }
    return this.#closedWith;
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNews = resolve;
    });
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
