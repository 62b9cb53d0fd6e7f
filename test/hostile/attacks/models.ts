/** Loading, unloading and listing of models, by those whose they are not. */
import { setMaxListeners } from 'node:events';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../support/attack.ts';
import type { Client, SendOptions } from '../support/client.ts';

const SUMMIT = new URL('../../../models/summit', import.meta.url).pathname;
/** Names of one model, since the victim names none and gets whichever is loaded. */
const SWAPPED = ['a', 'b', 'c', 'd', 'e'] as const;

const EXPLICIT = ['--model-control=explicit'];

/** Whatever changes which models are loaded. */
const VERBS = [
  ['/models/unload', { model: 'summit' }],
  ['/models/load', { model: 'summit' }],
  ['/v2/repository/models/summit/unload', {}],
  ['/v2/repository/models/summit/load', {}],
  ['/api/pull', { model: 'hf.co/owner/name', stream: false }],
] as const;

/** @returns flags of a server with more models than it may load at once */
function withRepository(folder: string): readonly string[] {
  const repository = join(folder, 'repository');
  mkdirSync(repository, { recursive: true });
  for (const name of SWAPPED) symlinkSync(SUMMIT, join(repository, name));
  return [`--model-repository=${repository}`, '--model-control=auto', '--models-max=2'];
}

async function tryVerbs(client: Client, options: SendOptions): Promise<readonly string[]> {
  const breaches: string[] = [];
  for (const [path, body] of VERBS) {
    const { status } = await client.send(path, { ...options, body });
    if (status !== 403) breaches.push(`${path} answered ${status}`);
  }
  return breaches;
}

export const attacks: readonly Attack[] = [
  {
    name: 'a foreign page unloads and loads models',
    flags: EXPLICIT,
    async run({ attacker }) {
      return tryVerbs(attacker, { headers: { origin: 'http://evil.example' } });
    },
  },
  {
    name: 'a proxy on this machine passes such requests on',
    flags: EXPLICIT,
    async run({ attacker }) {
      const headers = ['x-forwarded-for', 'forwarded', 'x-real-ip'];
      const tried = headers.map((name) =>
        tryVerbs(attacker, { headers: { [name]: '203.0.113.9' } }),
      );
      return (await Promise.all(tried)).flat();
    },
  },
  {
    name: "a user's key does so",
    flags: EXPLICIT,
    hasKeys: true,
    async run({ attacker }) {
      return tryVerbs(attacker, {});
    },
  },
  {
    name: "a user's key ends the model by `keep_alive: 0`, in every API",
    flags: ['--model-control=auto'],
    hasKeys: true,
    async run({ attacker }) {
      const breaches: string[] = [];
      const ask = { model: 'summit', keep_alive: 0 };
      const unload = await attacker.send('/api/generate', { body: ask });
      if (unload.status !== 403) breaches.push(`/api/generate answered ${unload.status}`);
      const embed = { ...ask, input: 'Hi' };
      for (const [path, body] of [
        ['/v1/completions', { ...ask, prompt: 'Hi', max_tokens: 1 }],
        ['/v1/embeddings', embed],
        ['/api/embed', embed],
      ] as const) {
        await attacker.send(path, { body });
      }
      const { text } = await attacker.send('/models');
      if (!text.includes('"loaded"')) breaches.push(`the model is gone: ${text}`);
      return breaches;
    },
  },
  {
    name: 'each of five models in turn, of which two may be loaded, by sixteen at once',
    flags: withRepository,
    swapsModels: true,
    hasKeys: true,
    // Two models load at once, and take cores.
    maxDelayMs: 1000,
    maxWaitMs: 5000,
    async run({ attacker }) {
      const begin = performance.now();
      const statuses = new Set<number>();
      // On any machine until loads are limited, and for a while after that.
      const isOver = (): boolean => {
        const ms = performance.now() - begin;
        return ms > 50_000 || (ms > 20_000 && statuses.has(429));
      };
      const lanes = Array.from({ length: 16 }, async (_, lane) => {
        for (let turn = lane; !isOver(); turn++) {
          const body = { model: SWAPPED[turn % SWAPPED.length], prompt: 'Hi', max_tokens: 1 };
          const { status } = await attacker.send('/v1/completions', { body });
          statuses.add(status);
          // As its answer says, though a minute is longer than the attack.
          if (status === 429) await sleep(200);
        }
      });
      await Promise.all(lanes);
      const isLimited = statuses.has(429);
      return isLimited ? [] : [`loads were not limited: ${[...statuses].join()}`];
    },
  },
  {
    name: '17 listeners to the states of models, and 200 that leave at once',
    async run({ attacker }) {
      const breaches: string[] = [];
      const leaving = new AbortController();
      const statuses = await Promise.all(
        Array.from({ length: 16 }, () => openFeed(attacker, leaving.signal)),
      );
      if (statuses.some((status) => status !== 200)) breaches.push(`of 16: ${statuses.join()}`);
      const { status } = await attacker.send('/models/sse');
      if (status !== 429) breaches.push(`the 17th got ${status}`);
      leaving.abort();
      for (let round = 0; round < 20; round++) {
        const signal = AbortSignal.timeout(50);
        await Promise.all(Array.from({ length: 10 }, () => openFeed(attacker, signal)));
      }
      // Until the server has heard of it.
      await sleep(300);
      const last = new AbortController();
      const after = await openFeed(attacker, last.signal);
      last.abort();
      if (after !== 200) breaches.push(`after all have left, a listener got ${after}`);
      return breaches;
    },
  },
  {
    name: '`GET /models` and `/api/tags`, 3,000 times',
    async run({ attacker }) {
      const paths = ['/models', '/v1/models', '/api/tags'];
      const lanes = Array.from({ length: 30 }, async (_, lane) => {
        for (let count = 0; count < 100; count++) await attacker.try(paths[lane % 3] ?? '');
      });
      await Promise.all(lanes);
    },
  },
];

/** The status with which a feed begins, which stays open until `signal` aborts. */
async function openFeed(client: Client, signal: AbortSignal): Promise<number> {
  const socket = await client.connect();
  setMaxListeners(0, signal);
  signal.addEventListener('abort', () => socket.destroy(), { once: true });
  const answered = new Promise<string>((resolve) => {
    socket.once('data', (data: Buffer) => resolve(data.toString('latin1')));
    socket.once('close', () => resolve(''));
  });
  socket.write(`${client.head('GET', '/models/sse', {})}\r\n`);
  return Number((await answered).slice(9, 12));
}
