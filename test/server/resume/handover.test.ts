/** A server that shuts down, another that goes on, and others that should not be told anything. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { UnreadAnswers } from '../../../src/server/http/unread-answers.ts';
import { Handover } from '../../../src/server/resume/handover.ts';
import {
  HANDOVER_PATH,
  REPLICA_HEADER,
  ReplicaQuestion,
  sealSender,
} from '../../../src/server/resume/replica-seal.ts';
import { ResumeKey } from '../../../src/server/resume/resume-key.ts';
import { errorOf, post } from '../support/client.ts';
import { type SentEvent, streamOf } from '../support/resumed.ts';
import {
  type TestServer,
  type TestServerOptions,
  tokensOf,
  useServers,
} from '../support/test-server.ts';
import { connect } from '../support/web-socket.ts';

const server = useServers();
const resumeKey = 'a secret of all replicas';
const key = new ResumeKey(resumeKey);
const logger = pino({ level: 'silent' });

function wholeText(seed: bigint): string {
  return Array.from({ length: 60 }, (_, at) => `${(seed + BigInt(at * at)) % 10n}`).join('');
}

/** The text depends on the seed: another server goes on with the same only if it has it. */
const script: NonNullable<TestServerOptions['script']> = (_, { sampling }) =>
  tokensOf(wholeText(sampling.seed));

const REQUESTS = [
  { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'Hi' }] } },
  { path: '/v1/completions', body: { prompt: 'Hi', max_tokens: 60 } },
  {
    path: '/v1/messages',
    body: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 60 },
  },
  { path: '/v1/responses', body: { input: 'Hi' } },
];

/** A server that hands over to others, at the latest when the test says so. */
async function leaving(to: readonly string[], options: TestServerOptions = {}) {
  const directory = { find: async () => to.map((url) => new URL(url)) };
  const handover = new Handover({ key, directory, logger });
  const target = await server({ resumeKey, script, handover, ...options });
  const leave = (): void => {
    target.startDraining();
    handover.begin();
  };
  return { target, handover, leave };
}

const staying = () => server({ resumeKey, script });
/** Waits with most of its text. */
const held = { engine: { heldAfter: 20 } };

/** Text that was told, whatever pieces it came in; and every id. */
function textIn(events: readonly { readonly data: string }[]): { text: string; ids: string[] } {
  const ids = new Set<string>();
  let text = '';
  for (const { data } of events) {
    if (data === '[DONE]') continue;
    const { id, response, message, choices, delta } = JSON.parse(data);
    for (const each of [id, response?.id, message?.id]) if (each !== undefined) ids.add(each);
    const [choice] = choices ?? [];
    text +=
      choice?.text ??
      choice?.delta?.content ??
      delta?.text ??
      (typeof delta === 'string' ? delta : '');
  }
  return { text, ids: [...ids] };
}

/** The seed that the server drew is in the text. */
function seedOf({ engine }: TestServer): bigint {
  return engine.requests[0]?.sampling.seed ?? -1n;
}

describe.each(REQUESTS)('$path, when its server shuts down', ({ path, body }) => {
  test('goes on elsewhere as a stream, as if nothing had been', async () => {
    const other = await staying();
    const { target, handover, leave } = await leaving([other.url], held);
    const running = streamOf(await post(target, path, { ...body, stream: true }));
    await until(() => target.engine.stats.numSteps > 10);
    leave();
    const { events } = await running;
    const { text, ids } = textIn(events);
    expect(text).toBe(wholeText(seedOf(target)));
    expect(ids).toHaveLength(1);
    expect(handover.counts).toMatchObject({ moved: 1, kept: 0 });
    // Tokens told here are known there.
    expect(other.engine.requests[0]?.outputTokenIds.length).toBeGreaterThan(5);
    const numbers = events.flatMap(({ data }) => {
      const number: unknown = data === '[DONE]' ? undefined : JSON.parse(data).sequence_number;
      return number === undefined ? [] : [number];
    });
    expect(numbers).toEqual(numbers.map((_, index) => index));
    await until(() => target.engine.running === 0);
  });

  test('goes on elsewhere in one piece', async () => {
    const other = await staying();
    const { target, handover, leave } = await leaving([other.url], held);
    const running = post(target, path, body);
    await until(() => target.engine.stats.numSteps > 10);
    leave();
    const answer = await running;
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain(wholeText(seedOf(target)));
    expect(handover.counts).toMatchObject({ moved: 1 });
  });

  test('goes on elsewhere before its first token', async () => {
    const other = await staying();
    const { target, leave } = await leaving([other.url], { engine: { heldAfter: 0 } });
    const running = post(target, path, { ...body, stream: true });
    await until(() => target.engine.running === 1);
    leave();
    const { events } = await streamOf(await running);
    expect(textIn(events).text).toBe(wholeText(seedOf(target)));
    expect(textIn(events).ids).toHaveLength(1);
  });

  test('is answered elsewhere when it comes too late, streamed or not', async () => {
    const other = await staying();
    const { target, handover, leave } = await leaving([other.url]);
    leave();
    const holding = vi.spyOn(UnreadAnswers.prototype, 'hold');
    const { events, token } = await streamOf(await post(target, path, { ...body, stream: true }));
    expect(textIn(events).text).toBe(wholeText(seedOf(other)));
    expect(token).not.toBe('');
    // Both servers count it until it is read.
    expect(new Set(holding.mock.contexts).size).toBe(2);
    holding.mockRestore();
    const answer = await post(target, path, { ...body, seed: 3 });
    expect(await answer.text()).toMatch(/\d{60}/);
    expect(answer.headers.get('connection')).toBe('close');
    expect(target.engine.requests).toHaveLength(0);
    expect(handover.counts).toMatchObject({ forwarded: 2, refused: 0 });
    const wrong = await post(target, path, { ...body, temperature: 'hot' });
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toContain('temperature');
  });

  test('is finished here when nobody takes it, and refused when it comes too late', async () => {
    const stranger = await server({ resumeKey: 'some other secret of others', script });
    const { target, handover, leave } = await leaving([stranger.url, 'http://127.0.0.1:1'], held);
    const running = streamOf(await post(target, path, { ...body, stream: true }));
    await until(() => target.engine.stats.numSteps > 10);
    leave();
    await until(() => handover.counts.kept === 1);
    target.engine.release();
    expect(textIn((await running).events).text).toBe(wholeText(seedOf(target)));
    const late = await post(target, path, body);
    expect(late.status).toBe(503);
    expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(handover.counts).toEqual({ moved: 0, kept: 1, forwarded: 0, refused: 1 });
    expect(stranger.engine.requests).toHaveLength(0);
  });
});

describe('over a WebSocket, when its server shuts down', () => {
  test('a stream and an answer in one piece go on elsewhere', async () => {
    const other = await staying();
    const { target, handover, leave } = await leaving([other.url], held);
    const socket = await connect(target, '/v1/completions');
    const body = { prompt: 'Hi', max_tokens: 60, seed: 7 };
    socket.send({ ...body, request_id: 'a', stream: true });
    socket.send({ ...body, request_id: 'b' });
    await until(() => target.engine.stats.numSteps > 20);
    leave();
    for (const id of ['a', 'b']) {
      const frames = (await socket.answer(id)).filter(({ type }) => type !== 'done');
      const events = frames.map((frame) => ({ data: JSON.stringify(frame) }));
      expect(textIn(events).text).toBe(wholeText(7n));
      expect(textIn(events).ids).toHaveLength(1);
    }
    expect(handover.counts).toMatchObject({ moved: 2 });
  });

  test('a request that comes too late is answered elsewhere, and a wrong one refused', async () => {
    const other = await staying();
    const { target, leave } = await leaving([other.url]);
    const socket = await connect(target, '/v1/completions');
    leave();
    socket.send({ prompt: 'Hi', max_tokens: 60, seed: 7, request_id: 'a', stream: true });
    socket.send({ prompt: 'Hi', temperature: 'hot', request_id: 'b' });
    const frames = (await socket.answer('a')).filter(({ type }) => type !== 'done');
    expect(textIn(frames.map((frame) => ({ data: JSON.stringify(frame) }))).text).toBe(
      wholeText(7n),
    );
    expect(frames[0]?.['resume_token']).toBeTypeOf('string');
    const [wrong] = await socket.answer('b');
    expect(wrong?.error?.message).toContain('temperature');
    socket.socket.terminate();
  });

  test('a response goes on elsewhere', async () => {
    const other = await staying();
    const { target, leave } = await leaving([other.url], held);
    const socket = new WebSocket(`${target.url.replace('http', 'ws')}/v1/responses`);
    const events: SentEvent[] = [];
    socket.on('message', (data: Buffer) => {
      events.push({ id: undefined, data: data.toString('utf8') });
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'response.create', input: 'Hi' }));
    await until(() => target.engine.stats.numSteps > 10);
    leave();
    await until(() => events.some(({ data }) => data.includes('"type":"response.completed"')));
    const { text, ids } = textIn(events.filter(({ data }) => !data.includes('.done"')));
    expect(text).toBe(wholeText(seedOf(target)));
    expect(ids).toHaveLength(1);
    const numbers = events.map(({ data }) => JSON.parse(data).sequence_number);
    expect(numbers).toEqual(numbers.map((_, index) => index));
    socket.terminate();
  });

  test('is told to its end before the server says so', async () => {
    const other = await server({ resumeKey, script, engine: { heldAfter: 1 } });
    const { target, handover, leave } = await leaving([other.url], held);
    const running = post(target, '/v1/completions', { prompt: 'Hi', max_tokens: 60, stream: true });
    await until(() => target.engine.stats.numSteps > 10);
    leave();
    await until(() => other.engine.running === 1 && target.engine.running === 0);
    const states: number[] = [];
    const passedOn = handover.onPassedOn().then(() => states.push(other.engine.running));
    await setImmediate();
    other.engine.release();
    await passedOn;
    expect(states).toEqual([0]);
    expect(textIn((await streamOf(await running)).events).text).toBe(wholeText(seedOf(target)));
  });

  test('whose client leaves ends there as well', async () => {
    const other = await server({ resumeKey, script, engine: { heldAfter: 1 } });
    const { target, leave } = await leaving([other.url], held);
    const socket = await connect(target, '/v1/completions');
    socket.send({ prompt: 'Hi', max_tokens: 60, request_id: 'a', stream: true });
    await until(() => target.engine.stats.numSteps > 10);
    leave();
    await until(() => other.engine.running === 1);
    socket.socket.terminate();
    await until(() => other.engine.running === 0);
    expect(other.engine.aborted).toBe(1);
  });
});

describe("the replicas' own route", () => {
  const body = { prompt: 'Hi', stream: true };
  const sender = { path: '/v1/completions', client: '#1' };

  test('takes nothing from who has another key, or shows an old or another seal', async () => {
    const target = await server({ resumeKey, config: { apiKeys: ['alice'] } });
    const old = JSON.stringify({ ...sender, expires: Date.now() - 1 });
    const alice = { authorization: 'Bearer alice' };
    for (const sealed of [
      '',
      'AAAA',
      key.seal('resume', JSON.stringify({ ...sender, expires: Date.now() + 1000 })),
      key.seal('handover', old),
      key.seal('question', old),
      sealSender(new ResumeKey('some other secret'), sender),
      new ReplicaQuestion(new ResumeKey('some other secret')).sealed,
    ]) {
      const headers = { ...alice, [REPLICA_HEADER]: sealed };
      await errorOf(await post(target, HANDOVER_PATH, body, { headers }), 401);
    }
    const headers = { [REPLICA_HEADER]: sealSender(key, sender) };
    const rest = await streamOf(await post(target, HANDOVER_PATH, body, { headers }));
    expect(rest.events.at(-1)?.data).toBe('[DONE]');
  });

  test('has an answer of its own to each question, and none while it shuts down', async () => {
    const target = await server({ resumeKey });
    const [one, other] = [new ReplicaQuestion(key), new ReplicaQuestion(key)];
    const ask = ({ sealed }: ReplicaQuestion) =>
      post(target, HANDOVER_PATH, {}, { headers: { [REPLICA_HEADER]: sealed } });
    const { headers } = await ask(one);
    const told: IncomingHttpHeaders = { [REPLICA_HEADER]: headers.get(REPLICA_HEADER) ?? '' };
    expect(one.isAnsweredBy(told)).toBe(true);
    expect(other.isAnsweredBy(told)).toBe(false);
    expect(one.isAnsweredBy({ [REPLICA_HEADER]: one.sealed })).toBe(false);
    target.startDraining();
    expect((await ask(one)).headers.get(REPLICA_HEADER)).toBe(null);
  });

  test('is not for a request that has been handed over to who shuts down as well', async () => {
    const { target, leave } = await leaving(['http://127.0.0.1:1']);
    leave();
    const headers = { [REPLICA_HEADER]: sealSender(key, sender) };
    await errorOf(await post(target, HANDOVER_PATH, body, { headers }), 503);
  });
});

describe('whoever has taken the address of a replica', () => {
  const impostors: { close(): void }[] = [];
  afterEach(() => {
    for (const impostor of impostors.splice(0)) impostor.close();
  });

  test('is told nothing of a request', async () => {
    const heard: string[] = [];
    const impostor = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => heard.push(text));
      request.on('end', () => {
        // The best it can do is to send the question back.
        response.setHeader(REPLICA_HEADER, request.headers[REPLICA_HEADER] ?? '');
        response.end('{"choices": []}');
      });
    }).listen(0, '127.0.0.1');
    impostors.push(impostor);
    await once(impostor, 'listening');
    const { port } = impostor.address() as AddressInfo;
    const { target, handover, leave } = await leaving([`http://127.0.0.1:${port}`], held);
    const running = post(target, '/v1/completions', { prompt: 'a secret', max_tokens: 60 });
    await until(() => target.engine.stats.numSteps > 3);
    leave();
    await until(() => handover.counts.kept === 1);
    target.engine.release();
    expect(await (await running).text()).toContain(wholeText(seedOf(target)));
    expect(handover.counts).toMatchObject({ moved: 0, kept: 1 });
    expect(heard).toEqual(['{}']);
  });
});

async function until(isSo: () => boolean): Promise<void> {
  await expect.poll(isSo, { interval: 5 }).toBe(true);
}
