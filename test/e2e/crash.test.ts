import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { SAMPLE_MS } from '../../src/server/status/last-hour.ts';
import { metric, post, stream, type StreamedCompletion } from '../support/http-client.ts';
import { orLong } from '../support/long-runs.ts';
import { LINUX, needs } from '../support/needs.ts';
import { childrenOf, killNow, until } from '../support/processes.ts';
import { engineOf, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const complete = { finishReason: 'length', done: true, error: undefined };
const question = { messages: [{ role: 'user', content: 'What is 23 + 45?' }], temperature: 0 };

/** Half greedy, half seeded. */
const stories = Array.from({ length: 16 }, (_, index) => ({
  messages: [{ role: 'user', content: `Tell me a story about the number ${index}.` }],
  max_tokens: orLong(160, 240),
  ignore_eos: true,
  ...(index % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, seed: index }),
}));

/** Streams all stories; `disturb` is called after every so many characters of all texts. */
async function streamAll(
  server: ServerProcess,
  every = Infinity,
  disturb: () => void = () => {},
): Promise<StreamedCompletion[]> {
  let length = 0;
  const chat = `${server.url}/v1/chat/completions`;
  return Promise.all(
    stories.map((body) =>
      stream(chat, body, (text) => {
        const before = Math.floor(length / every);
        length += text.length;
        if (Math.floor(length / every) > before) disturb();
      }),
    ),
  );
}

const references = new Map<string, readonly StreamedCompletion[]>();

/**
 * The texts of an undisturbed server: told once by the first, for all that compute with the same
 * numbers, whatever else sets them apart.
 */
async function undisturbedOf(
  server: ServerProcess,
  numbers = 'default',
): Promise<readonly StreamedCompletion[]> {
  const told = references.get(numbers) ?? (await streamAll(server));
  for (const result of told) expect(result).toMatchObject(complete);
  references.set(numbers, told);
  return told;
}

/** Length of one of so many parts of all texts. */
function partOf(streams: readonly StreamedCompletion[], parts: number): number {
  return streams.reduce((sum, { text }) => sum + text.length, 0) / parts;
}

const int8 = ['--kv-cache-dtype', 'int8'];
const native = ['--kernels', 'native', '--precision'];
const ways = [
  { name: 'by computing again', flags: [], numbers: 'default' },
  { name: 'by computing again in int8', flags: [...native, 'int8'], numbers: 'native int8' },
  { name: 'by computing again in int4', flags: [...native, 'int4'], numbers: 'native int4' },
  { name: 'from a durable KV cache', flags: ['--durable-kv'], numbers: 'default' },
  { name: 'from one of int8', flags: ['--durable-kv', ...int8], numbers: 'int8' },
];

describe.each(ways)('three kills in a run, survived $name', ({ flags, numbers }) => {
  it('change no text', flags.length === 0 ? {} : needs(LINUX), async () => {
    const server = await startServer(flags, cache.env);
    const undisturbed = await undisturbedOf(server, numbers);
    const killed = new Set<number>();
    const disturbed = await streamAll(server, partOf(undisturbed, 6), () => {
      if (killed.size === 3) return;
      const pid = engineOf(server);
      if (killNow(pid)) killed.add(pid);
    });
    expect(killed.size).toBe(3);
    expect(disturbed).toEqual(undisturbed);
    expect((await stream(`${server.url}/v1/chat/completions`, question)).text).toContain('68');
    expect(await metric(server.url, 'chairlift_engine_crashes_total')).toBe(3);
    await server.stop();
  });
});

describe('an engine that hangs', () => {
  it('is replaced after --step-timeout', async () => {
    const server = await startServer(['--step-timeout', '1.5'], cache.env);
    const undisturbed = await undisturbedOf(server);
    let stopped = 0;
    const disturbed = await streamAll(server, partOf(undisturbed, 4), () => {
      if (stopped++ === 0) process.kill(engineOf(server), 'SIGSTOP');
    });
    expect(stopped).toBeGreaterThan(0);
    expect(disturbed).toEqual(undisturbed);
    await server.stop();
  });
});

describe('three kills in a row', () => {
  it.each([
    { name: 'of each process as soon as it is there', betweenMs: 0 },
    { name: 'of processes that load or have just begun', betweenMs: 640 },
  ])('$name fail none of 16 streams and change no text', async ({ betweenMs }) => {
    const server = await startServer(['--precision', 'fp32'], cache.env);
    const undisturbed = await undisturbedOf(server, 'fp32');
    let kills: Promise<number> | undefined;
    const disturbed = await streamAll(server, partOf(undisturbed, 4), () => {
      kills ??= killInARow(server, 3, betweenMs);
    });
    // Within two seconds, where the machine has no other work.
    expect(await kills).toBeLessThan(20_000);
    expect(disturbed).toEqual(undisturbed);
    // The texts may have ended before the last of them.
    const crashes = () => metric(server.url, 'chairlift_engine_crashes_total');
    await until(async () => (await crashes()) >= 3, 'the last crash to be noticed');
    expect(await crashes()).toBe(3);
    await server.stop();
  });
});

/** @returns how long it took, in milliseconds */
async function killInARow(server: ServerProcess, count: number, betweenMs: number) {
  const start = performance.now();
  let pid = 0;
  for (let kill = 0; kill < count; kill++) {
    if (kill > 0) await sleep(betweenMs);
    await until(
      () => childrenOf(server.child.pid).some((child) => child !== pid),
      'another process',
    );
    pid = engineOf(server);
    process.kill(pid, 'SIGKILL');
  }
  return performance.now() - start;
}

describe('an engine that crashes again and again', () => {
  it('keeps requests in flight, turns new ones away for a while, and recovers', async () => {
    const server = await startServer([], cache.env);
    const chat = `${server.url}/v1/chat/completions`;
    const story = { ...stories[0], max_tokens: orLong(600, 1500) };
    const running = stream(chat, story);
    await until(
      async () => (await metric(server.url, 'chairlift_num_requests_running')) === 1,
      'a running request',
    );
    await killInARow(server, 3, 0);
    const crashes = () => metric(server.url, 'chairlift_engine_crashes_total');
    await until(async () => (await crashes()) === 3, 'the pause');
    expect((await fetch(`${server.url}/ready`)).status).toBe(503);
    const refused = await post(chat, question);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    await until(async () => (await fetch(`${server.url}/ready`)).ok, 'recovery');
    expect((await stream(chat, question)).text).toContain('68');
    expect(await running).toEqual(await stream(chat, story));
    await server.stop();
  });
});

describe('a server without a free descriptor', () => {
  it('replaces a killed engine, and its streams go on', async () => {
    const server = await startServer([], cache.env, { maxDescriptors: 256 });
    const undisturbed = await undisturbedOf(server);
    const { hostname, port } = new URL(server.url);
    const idle: Socket[] = [];
    let kills: Promise<unknown> | undefined;
    const disturbed = await streamAll(server, partOf(undisturbed, 4), () => {
      if (kills) return;
      for (let client = 0; client < 300; client++) {
        idle.push(connect(Number(port), hostname).on('error', () => {}));
      }
      // A client is turned away: there is no descriptor for it.
      kills = Promise.race(idle.map((socket) => once(socket, 'close'))).then(() =>
        killInARow(server, 1, 0),
      );
    });
    expect(await kills).toBeGreaterThan(0);
    expect(disturbed).toEqual(undisturbed);
    // Work done every few seconds does without descriptors too.
    await sleep(1.5 * SAMPLE_MS);
    expect(server.child.exitCode).toBeNull();
    for (const socket of idle) socket.destroy();
    await until(async () => (await fetch(`${server.url}/ready`)).ok, 'free descriptors');
    await server.stop();
  });
});
