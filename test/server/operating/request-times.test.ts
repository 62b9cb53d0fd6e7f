/** Where the time of a request went: in its answer, and in the metrics. */
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { RequestRecord, STAGES } from '../../../src/front/request-record.ts';
import { PLAIN_EVENTS, writeEventStream } from '../../../src/server/http/sse.ts';
import { post } from '../support/client.ts';
import { stalled } from '../support/pours.ts';
import { babbles, MODEL, useServers } from '../support/test-server.ts';
import { connect } from '../support/web-socket.ts';

const server = useServers();

const chat = [{ role: 'user', content: 'Hi' }];
const ROUTES: [string, object][] = [
  ['/v1/completions', { prompt: 'Hi' }],
  ['/v1/completions', { prompt: 'Hi', n: 2 }],
  ['/v1/chat/completions', { messages: chat }],
  ['/v1/responses', { input: 'Hi' }],
  ['/v1/messages', { max_tokens: 5, messages: chat }],
];

/** Names and milliseconds of a `Server-Timing` header. */
function timesOf(header: string | null | undefined): Map<string, number> {
  return new Map(
    (header ?? '').split(', ').map((entry) => {
      const [, name = '', ms] = /^(\w+);dur=(\d+\.\d\d)$/.exec(entry) ?? [];
      return [name, Number(ms)];
    }),
  );
}

describe('Server-Timing', () => {
  test.each([
    ...ROUTES,
    ['/api/chat', { model: MODEL, messages: chat, stream: false }],
    [`/v2/models/${MODEL}/generate`, { text_input: 'Hi' }],
  ] as [string, object][])('says how long each stage took: %s %j', async (path, body) => {
    const response = await post(await server(), path, body);
    expect(response.status).toBe(200);
    const times = timesOf(response.headers.get('server-timing'));
    // It is on its way.
    const known = STAGES.filter((stage) => stage !== 'send');
    expect([...times.keys()]).toEqual([...known, 'total']);
    const { total = 0, detokenize: _, ...parts } = Object.fromEntries(times);
    const sum = Object.values(parts).reduce((all, ms) => all + ms, 0);
    expect(sum).toBeGreaterThan(0);
    // Rounded, each of them.
    expect(sum).toBeLessThan(total + 0.1);
  });

  test.each(ROUTES)(
    'of a stream says what is known, and at its end all: %s %j',
    async (path, body) => {
      const response = await post(await server(), path, { ...body, stream: true });
      const atFirst = timesOf(response.headers.get('server-timing'));
      expect([...atFirst.keys()].slice(0, 2)).toEqual(['receive', 'tokenize']);
      expect(atFirst.has('decode')).toBe(false);
      const text = await response.text();
      const comments = Array.from(text.matchAll(/^: server-timing (.*)$/gm), ([, times]) => times);
      expect(comments).toHaveLength(1);
      expect([...timesOf(comments[0]).keys()]).toEqual([...STAGES, 'total']);
    },
  );

  test('counts the wait for a client that reads slowly as sending', async () => {
    const record = new RequestRecord();
    let numEvents = 0;
    const events = async function* () {
      for (; numEvents < 32; numEvents++) yield [{ text: 'x'.repeat(2 ** 20) }];
    };
    const pausing = createServer((_, response) => {
      void writeEventStream(response, events(), {
        style: PLAIN_EVENTS,
        pingMs: 60_000,
        headers: new Headers(),
        record,
        toErrorEvent: () => ({}),
      });
    }).listen(0, '127.0.0.1');
    await once(pausing, 'listening');
    const { port } = pausing.address() as AddressInfo;
    const [response] = (await once(get({ port }), 'response')) as [IncomingMessage];
    await stalled(() => numEvents);
    const before = performance.now();
    await setTimeout(300);
    const waitedMs = performance.now() - before;
    for await (const _ of response);
    pausing.close();
    record.finished('stop', performance.now(), 0);
    record.ended(performance.now());
    expect(record.msOf('send')).toBeGreaterThanOrEqual(waitedMs);
  });

  test('is not in refusals, of which it could tell what others have', async () => {
    const response = await post(await server(), '/v1/completions', { prompt: 'Hi', n: 0 });
    expect(response.status).toBe(400);
    expect(response.headers.get('server-timing')).toBeNull();
  });

  test('is not in answers that ask no model for anything', async () => {
    const { url } = await server();
    const response = await fetch(`${url}/v1/models`);
    expect(response.headers.get('server-timing')).toBeNull();
  });
});

test('every stage of every request is in the histogram once, of WebSockets too', async () => {
  const target = await server();
  await (await post(target, '/v1/completions', { prompt: 'Hi', n: 3 })).text();
  await (await post(target, '/v1/chat/completions', { messages: chat, stream: true })).text();
  const socket = await connect(target, '/v1/completions');
  socket.send({ request_id: 'one', prompt: 'Hi' });
  await socket.answer('one');
  await fetch(`${target.url}/v1/models`);
  await vi.waitFor(async () => {
    const page = await (await fetch(`${target.url}/metrics`)).text();
    const counts = page.matchAll(
      /request_stage_seconds_count\{model_name="(.+?)",stage="(\w+)"\} (\d+)/g,
    );
    const found = Array.from(counts, ([, model, stage, count]) => [model, stage, Number(count)]);
    expect(found).toEqual(STAGES.map((stage) => [MODEL, stage, 3]));
  });
});

test('a queue shows as such', async () => {
  const engine = { delayMs: 10, heldAfter: 1 };
  const target = await server({ script: babbles, engine, concurrency: 1 });
  const body = { prompt: 'Hi', max_tokens: 10 };
  const first = post(target, '/v1/completions', body);
  await vi.waitFor(() => expect(target.engine.running).toBe(1));
  const second = post(target, '/v1/completions', body);
  await vi.waitFor(() => expect(target.admission.waiting).toBe(1));
  await setTimeout(60);
  target.engine.release();
  await first;
  const { queue = 0, decode = 0 } = Object.fromEntries(
    timesOf((await second).headers.get('server-timing')),
  );
  expect(queue).toBeGreaterThan(50);
  expect(decode).toBeGreaterThan(50);
});
