import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import type { StepRecord } from '../../../src/engine/tap/step-record.ts';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import type { FakeEngine } from '../../support/fake-engine.ts';
import { until } from '../../support/processes.ts';
import { cellOf } from '../../support/step-cells.ts';
import { stepRecord } from '../../support/step-records.ts';
import { StepStream } from '../../support/step-stream.ts';
import { acceptedSockets } from '../support/accepted.ts';
import { errorOf, post } from '../support/client.ts';
import { babbles, MODEL, type TestServer, useServers } from '../support/test-server.ts';

const server = useServers();

/** Tells all who watch of an iteration, as the engine would. */
function tell({ watchers }: FakeEngine, record: StepRecord): void {
  const label = (id: number) => ({ requestId: `request-${id}`, serviceClass: 'standard' });
  for (const [listener, every] of watchers) {
    if (record.step % every !== 0) continue;
    listener.stepped(record, (id) => engineRequest({ id, label: label(id) }), 0);
  }
}

async function open(target: TestServer, search = '', headers = {}): Promise<StepStream> {
  const stream = await StepStream.open(target.url, search, headers);
  await stream.until(({ events }) => events.length >= 2, 'the first events');
  return stream;
}

const lastOf = (stream: StepStream) => stream.of('step').at(-1)?.step;

const NUM_WATCHERS = 200;

const nobodyWatches = ({ engine }: TestServer) =>
  until(() => engine.watchers.size === 0, 'the end of watching');

test('/admin/steps tells how things stand, then each iteration', async () => {
  const target = await server();
  expect(target.engine.watchers.size).toBe(0);
  const stream = await open(target);
  const cells = [
    { slot: 0, request: 7, work: 'prefill', start: 32, computed: 16, pages: 3, cached: 32 },
    {
      slot: 1,
      request: 8,
      work: 'verify',
      start: 40,
      computed: 4,
      sampled: 3,
      drafted: 3,
      accepted: 2,
    },
    { slot: 2, request: 9, work: 'held', start: 5 },
    { slot: 5, work: 'kept', computed: 64, pages: 4 },
  ] as const;
  tell(
    target.engine,
    stepRecord(cells, {
      step: 12,
      waiting: Float64Array.of(10, 11),
      numWaiting: 70,
      sentBack: Float64Array.of(10, 3, 0, 11, 4, 1),
    }),
  );
  await stream.until(() => stream.of('step').length === 1, 'a step');
  stream.leave();
  const [start, engine] = stream.events;
  expect(start).toMatchObject({ type: 'start', model: MODEL, every: 1 });
  expect(engine).toMatchObject({
    type: 'engine',
    instance: 0,
    state: 'ready',
    crashes: 0,
    slots: 1,
    kv_tokens: 1024,
  });
  expect(stream.of('request').map(({ id, request_id, class: of }) => [id, request_id, of])).toEqual(
    [10, 11, 7, 8, 9].map((id) => [id, `request-${id}`, 'standard']),
  );
  const [step] = stream.of('step');
  expect(step).toMatchObject({
    step: 12,
    at: 1_760_000_000_000.125,
    ms: 10.5,
    run_ms: 9.25,
    predicted_ms: 9,
    waiting: [10, 11],
    num_waiting: 70,
    sent_back: [
      [10, 3, 0],
      [11, 4, 1],
    ],
    pages: [16, 100, 2, 0],
  });
  expect(step?.cells.map(cellOf)).toEqual(cells.map((cell) => expect.objectContaining(cell)));
  await nobodyWatches(target);
});

test('a request is introduced once', async () => {
  const target = await server();
  const stream = await open(target);
  for (let step = 0; step < 3; step++) {
    tell(target.engine, stepRecord([{ slot: 0, request: 1 }], { step }));
  }
  await stream.until(() => stream.of('step').length === 3, 'the steps');
  expect(stream.of('request')).toHaveLength(1);
  const late = await open(target);
  tell(target.engine, stepRecord([{ slot: 0, request: 1 }], { step: 3 }));
  await late.until(() => late.of('step').length === 1, 'a step');
  expect(late.of('request')).toHaveLength(1);
  // Both share one subscription.
  expect(target.engine.watchers.size).toBe(1);
  stream.leave();
  late.leave();
  await nobodyWatches(target);
});

test('one in so many iterations can be asked for', async () => {
  const target = await server();
  const stream = await open(target, '?every=4');
  expect([...target.engine.watchers.values()]).toEqual([4]);
  for (let step = 1; step <= 12; step++) tell(target.engine, stepRecord([], { step }));
  await stream.until(() => stream.of('step').length >= 3, 'the steps');
  expect(stream.of('step').map(({ step }) => step)).toEqual([4, 8, 12]);
  for (const every of ['0', 'x', '1001', '1.5']) {
    const refused = await fetch(`${target.url}/admin/steps?every=${every}`);
    expect(await errorOf(refused, 400)).toMatchObject({ param: 'every' });
  }
  stream.leave();
});

test('the queue and its classes are shown, and nothing of what was asked', async () => {
  const secret = 'correct horse battery staple';
  const target = await server({ script: babbles, engine: { heldAfter: 1 }, concurrency: 1 });
  const stream = await open(target);
  const ending = new AbortController();
  const answers = [1, 2, 3].map((each) =>
    post(
      target,
      '/v1/completions',
      { model: MODEL, prompt: `${secret} ${each}`, max_tokens: 200 },
      { headers: { 'x-request-id': `client-${each}` }, signal: ending.signal },
    ).catch(() => {}),
  );
  const isQueued = () => stream.of('queue').some(({ num_waiting }) => num_waiting === 2);
  await stream.until(isQueued, 'a queue');
  const queue = stream.of('queue').find(({ num_waiting }) => num_waiting === 2);
  const waiting = queue?.requests ?? [];
  expect(waiting).toHaveLength(2);
  for (const request of waiting) {
    expect(request).toMatchObject({
      request_id: expect.stringMatching(/^client-[123]$/),
      class: 'standard',
      prompt_tokens: secret.length + 2,
    });
  }
  expect(target.engine.requests[0]?.label).toEqual({
    requestId: expect.stringMatching(/^client-[123]$/),
    serviceClass: 'standard',
  });
  ending.abort();
  await Promise.all(answers);
  await stream.until(() => stream.of('queue').at(-1)?.num_waiting === 0, 'an empty queue');
  expect(JSON.stringify(stream.events)).not.toContain('horse');
  stream.leave();
});

test('a crash and the recovery are told as they happen', async () => {
  const target = await server();
  const stream = await open(target);
  for (const [state, numUnfinished] of [
    ['recovering', 3],
    ['ready', 3],
  ] as const) {
    target.engine.state = state;
    for (const [listener] of target.engine.watchers) listener.became(state, numUnfinished, 0);
  }
  await stream.until(() => stream.of('engine').length === 3, 'the changes');
  expect(stream.of('engine').map(({ state, unfinished }) => [state, unfinished])).toEqual([
    ['ready', 0],
    ['recovering', 3],
    ['ready', 3],
  ]);
  // When the model goes, so does the stream.
  target.engine.state = 'stopped';
  await nobodyWatches(target);
});

test('only operators watch', async () => {
  const keys = new ApiKeys(unnamedKeys(['user-key']), digestOf('admin-key'));
  const target = await server({ keys });
  const ask = (headers: Record<string, string>) => fetch(`${target.url}/admin/steps`, { headers });
  await errorOf(await ask({}), 401);
  await errorOf(await ask({ authorization: 'Bearer user-key' }), 403);
  await errorOf(await ask({ authorization: 'Bearer wrong' }), 401);
  expect(target.engine.watchers.size).toBe(0);
  const stream = await open(target, '', { authorization: 'Bearer admin-key' });
  expect(target.engine.watchers.size).toBe(1);
  stream.leave();
  const withoutAdmin = await server({ config: { apiKeys: ['user-key'] } });
  const refused = await fetch(`${withoutAdmin.url}/admin/steps`, {
    headers: { authorization: 'Bearer user-key' },
  });
  await errorOf(refused, 403);
  const unguarded = await server();
  for (const headers of [{ 'x-forwarded-for': '10.0.0.9' }, { origin: 'https://evil.example' }]) {
    await errorOf(await fetch(`${unguarded.url}/admin/steps`, { headers }), 403);
  }
});

test('a model that is not there, not loaded, or of another kind is not watched', async () => {
  const target = await server({
    control: 'explicit',
    models: [modelDefinition(MODEL, {}, { preload: true }), modelDefinition('b')],
  });
  const ask = (model: string) => fetch(`${target.url}/admin/steps?model=${model}`);
  await errorOf(await ask('nobody'), 404);
  // The server has not failed: it is not one of its errors.
  const unloaded = await errorOf(await ask('b'), 409);
  expect(unloaded.code).toBe('model_not_loaded');
  const status = await (await fetch(`${target.url}/admin/status`)).json();
  expect(status).toMatchObject({ requests: { failures: 0 }, errors: { failures: [] } });
  await errorOf(await ask('x'.repeat(LIMITS.shortTextCharacters + 1)), 400);
  const stream = await open(target, `?model=${MODEL}`);
  stream.leave();
});

test('two hundred watchers: so many are served, the others refused, and all of it is given back', async () => {
  const target = await server();
  const leaving = new AbortController();
  const { signal } = leaving;
  const answers = await Promise.all(
    Array.from({ length: NUM_WATCHERS }, async () => {
      const response = await fetch(`${target.url}/admin/steps`, { signal });
      if (response.status !== 200) await response.text();
      return response;
    }),
  );
  const served = answers.filter(({ status }) => status === 200);
  expect(served).toHaveLength(LIMITS.stepWatchers);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(
    NUM_WATCHERS - LIMITS.stepWatchers,
  );
  // For all of them the engine makes one record.
  expect(target.engine.watchers.size).toBe(1);
  leaving.abort();
  await nobodyWatches(target);
  const stream = await open(target);
  stream.leave();
});

test('who reads too slowly loses steps, is told how many, and costs no more memory', async () => {
  const accepted = acceptedSockets();
  const target = await server();
  const { hostname, port } = new URL(target.url);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.setEncoding('utf8').pause();
  socket.write(`GET /admin/steps HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`);
  await until(() => target.engine.watchers.size === 1, 'a watcher');
  const quick = await open(target);
  const cells = Array.from({ length: 512 }, (_, slot) => ({
    slot,
    request: slot + 1,
    start: 100_000,
    computed: 1,
    sampled: 1,
    pages: 100,
  }));
  let numSteps = 0;
  // Until its connection takes no more, and then twice as much as may wait for it.
  for (let numRefused = 0; numRefused < 12;) {
    for (let each = 0; each < 25; each++) {
      tell(target.engine, stepRecord(cells, { step: numSteps++ }));
    }
    // Another reader of the same engine is given time for what it reads,
    await quick.until(() => lastOf(quick) === numSteps - 1, 'a step');
    numRefused = (accepted()[0]?.writableLength ?? 0) > 0 ? numRefused + 1 : 0;
  }
  // and loses nothing.
  expect(quick.of('lost')).toEqual([]);
  expect(quick.of('step')).toHaveLength(numSteps);
  quick.leave();

  socket.on('data', (text: string) => (received += text)).resume();
  await until(() => received.includes('"type":"lost"'), 'word of the loss');
  tell(target.engine, stepRecord(cells, { step: numSteps }));
  await until(() => received.includes(`"step":${numSteps},`), 'the next step');
  const events = [...received.matchAll(/data: (\{.*\})\n/g)].map(
    ([, json = '']) => JSON.parse(json) as { type: string; steps?: number; step?: number },
  );
  const numTold = events.filter(({ type }) => type === 'step').length;
  const numLost = events.reduce((sum, { steps = 0 }) => sum + steps, 0);
  expect(numLost).toBeGreaterThan(0);
  expect(numTold + numLost).toBe(numSteps + 1);
  const place = events.findLastIndex(({ type }) => type === 'lost');
  expect(events[place + 1]).toMatchObject({ type: 'engine' });
  expect(events.slice(place + 2).filter(({ type }) => type === 'request')).toHaveLength(512);
  socket.destroy();
  await nobodyWatches(target);
});

test('the stream ends when the server shuts down', async () => {
  const target = await server();
  const stream = await open(target);
  target.startDraining();
  await nobodyWatches(target);
  expect(stream.of('lost')).toEqual([]);
});
