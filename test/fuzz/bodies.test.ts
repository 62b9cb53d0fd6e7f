/**
 * Random, mutated, garbled and hostile bodies for every endpoint that takes one: never a 5xx, never a
 * hang, never more than 50 ms of the front's CPU time, every error in its envelope, and the next good
 * request is served.
 *
 * CHAIRLIFT_FUZZ_RUNS is how many of each kind and endpoint; CHAIRLIFT_FUZZ_URL sends them to a
 * running server in place of one of the test's own.
 */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documentedBodies } from '../../src/server/openapi/documented-bodies.ts';
import { toBodySchema } from '../../src/server/openapi/document.ts';
import { orLong } from '../support/long-runs.ts';
import { withinBudget } from './support/budget.ts';
import { expectCalm } from './support/expectations.ts';
import { fuzzedServer, type FuzzedServer } from './support/fuzzed-server.ts';
import { hostileBodies } from './support/hostile-bodies.ts';
import { garbled, mutated, nested } from './support/mutations.ts';
import { valuesOf } from './support/schema-arbitrary.ts';
import { withLimits } from './support/short-answers.ts';

const NUM_RUNS = Number(process.env['CHAIRLIFT_FUZZ_RUNS'] ?? orLong(2, 20));
/** Everybody's run is the same each time; long ones look for what is new. */
const RUNS = {
  numRuns: NUM_RUNS,
  ...(process.env['CHAIRLIFT_FUZZ_RUNS'] === undefined && { seed: 20_261_122 }),
};
/** Generous, for runs of thousands against a model. */
const TIMEOUT_MS = 60_000 + NUM_RUNS * 1000;

const user = [{ role: 'user', content: 'Hi' }];

/** Fields that are always there, so that no answer gets long, and a body that is right. */
const ENDPOINTS = [
  ['/v1/completions', 'completions', { max_tokens: 4 }, { prompt: 'Hi' }],
  ['/v1/chat/completions', 'chatCompletions', { max_tokens: 4 }, { messages: user }],
  ['/v1/responses', 'responses', { max_output_tokens: 4 }, { input: 'Hi' }],
  ['/v1/responses/input_tokens', 'responses', {}, { input: 'Hi' }],
  ['/v1/messages', 'messages', { max_tokens: 4 }, { messages: user }],
  ['/v1/messages/count_tokens', 'countTokens', {}, { messages: user }],
  ['/api/chat', 'ollamaChat', { options: { num_predict: 4 } }, { messages: user }],
  ['/api/generate', 'ollamaGenerate', { options: { num_predict: 4 } }, { prompt: 'Hi' }],
  ['/api/show', 'ollamaModel', {}, { name: 'summit:latest' }],
  ['/v1/chat/completions/render', 'chatCompletions', {}, { messages: user }],
  ['/tokenize', 'tokenize', {}, { prompt: 'Hi' }],
  ['/detokenize', 'detokenize', {}, { tokens: [1] }],
  ['/infill', 'infill', { n_predict: 4 }, { input_prefix: 'Hi' }],
  ['/completion', 'llamaCompletion', { n_predict: 4 }, { prompt: 'Hi' }],
] as const;

/** More characters than are made at once: each thread gets one. */
const LONG = { prompt: 'Once upon a time there was a fox. '.repeat(170), max_tokens: 2 };

let server: FuzzedServer;
const numByStatus = new Map<number, number>();

beforeAll(async () => {
  server = await fuzzedServer(process.env['CHAIRLIFT_FUZZ_URL']);
  // Warm requests show their true cost; the first of each kind also pays for the compiler.
  for (const [path, , limits, good] of ENDPOINTS) {
    for (let turn = 0; turn < 20; turn++) {
      await expectCalm(server.url, path, JSON.stringify({ ...limits, ...good }));
    }
  }
});

afterAll(async () => {
  await server.stop();
  const counts = [...numByStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count}`);
  console.log(`bodies by status: ${counts.join(', ')}`);
});

describe.each(ENDPOINTS)('%s', (path, name, limits, good) => {
  const right = { ...limits, ...good };
  // The model fills in no text.
  const statusOfRight = path === '/infill' ? 400 : 200;
  const schema = toBodySchema(documentedBodies[name]);
  const random = valuesOf(schema);
  const bodies = fc.oneof(
    { weight: 4, arbitrary: random.map((value): unknown => plain(value)) },
    { weight: 1, arbitrary: fc.constant<unknown>(right) },
  );

  const kinds: readonly (readonly [string, fc.Arbitrary<string | Uint8Array>])[] = [
    ['as the schema says', bodies.map((body) => JSON.stringify(body))],
    ['mutated', mutated(bodies).map((body) => JSON.stringify(body))],
    ['nested deeply', nested(bodies)],
    ['garbled', garbled(bodies)],
    ['of raw bytes', fc.uint8Array({ maxLength: 64 })],
    ['hostile', hostileBodies(right, Object.keys(schema.properties ?? {}))],
  ];

  test.each(kinds)(
    'bodies %s are answered at once, without a fault of ours',
    async (_kind, arbitrary) => {
      const property = fc.asyncProperty(arbitrary, async (body) => {
        const status = await withinBudget(server, () =>
          expectCalm(server.url, path, toBody(withLimits(body, limits))),
        );
        numByStatus.set(status, (numByStatus.get(status) ?? 0) + 1);
      });
      await fc.assert(property, RUNS);
      expect(await expectCalm(server.url, path, JSON.stringify(right))).toBe(statusOfRight);
    },
    TIMEOUT_MS,
  );

  test('leave no thread that answers no more', async () => {
    const long = Array.from({ length: 4 }, () =>
      expectCalm(server.url, '/v1/completions', JSON.stringify(LONG)),
    );
    expect(await Promise.all(long)).toEqual([200, 200, 200, 200]);
  });
});

/** Random names of models are all refused alike. */
function plain(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return {};
  const fields = Object.entries(value).filter(
    ([name, field]) => name !== 'model' && field !== undefined,
  );
  return Object.fromEntries(fields);
}

function toBody(body: string | Uint8Array): string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' ? body : new Uint8Array(body);
}
