import { expect, test } from 'vitest';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import {
  measureSpeed,
  medianSpeed,
  promptsOf,
  type Runnable,
  type Speed,
} from '../../../src/eval/compare/measure-speed.ts';
import { runRequests } from '../../../src/eval/compare/request-load.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

/** Endless: `maxTokens` ends a request. */
function* sevens(): Generator<number> {
  for (;;) yield 7;
}

const TOKENS = Int32Array.of(1, 2, 3, 4, 5);

test('a load keeps its streams busy and counts what came', async () => {
  const engine = new FakeEngine(sevens);
  let most = 0;
  const watched = {
    generate: (...args: Parameters<FakeEngine['generate']>) => {
      most = Math.max(most, engine.running + 1);
      return engine.generate(...args);
    },
  };
  const prompts = promptsOf(TOKENS, 2, 3);
  const load = { prompts, outputTokens: 4, streams: 3, numRequests: 8 };
  const level = await runRequests(watched, load);
  expect(engine.finished).toBe(8);
  expect(most).toBe(3);
  expect(engine.requests.map(({ promptTokenIds }) => [...promptTokenIds]).slice(0, 4)).toEqual([
    [1, 2],
    [3, 4],
    [5, 1],
    [1, 2],
  ]);
  expect(
    engine.requests.every(
      ({ maxTokens, stopTokenIds }) => maxTokens === 4 && stopTokenIds.length === 0,
    ),
  ).toBe(true);
  expect(level.tokensPerSecond / level.requestsPerSecond).toBeCloseTo(4);
  expect(level.p95Ms).toBeGreaterThanOrEqual(level.p50Ms);
});

test('an answer that is too short is an error', async () => {
  const engine = new FakeEngine(() => [1, 2]);
  const load = { prompts: [TOKENS], outputTokens: 4, streams: 1, numRequests: 1 };
  await expect(runRequests(engine, load)).rejects.toThrow('2 of 4 tokens');
});

test('each round starts each variant by itself, in another order', async () => {
  const events: string[] = [];
  const variants = ['a', 'b', 'c'].map((name): Runnable => ({
    // Only the name is looked at here.
    engine: { model: { graphPath: name } } as EngineOptions,
    tokenIds: TOKENS,
  }));
  let done = 0;
  const newEngine = () => {
    const engine = new FakeEngine(sevens);
    let name = '';
    return {
      generate: engine.generate.bind(engine),
      async start({ model }: EngineOptions) {
        name = model.graphPath;
        events.push(`+${name}`);
      },
      async stop() {
        events.push(`-${name}`);
      },
    };
  };
  const work = { promptTokens: 2, outputTokens: 1, streams: [1, 2] };
  const speeds = await measureSpeed(variants, work, 2, () => done++, newEngine);
  expect(events.join(' ')).toBe('+a -a +b -b +c -c +b -b +c -c +a -a');
  expect(done).toBe(6);
  expect(speeds).toHaveLength(3);
  expect(speeds[0]?.levels.map(({ streams }) => streams)).toEqual([1, 2]);
});

test('an engine that fails is stopped', async () => {
  let isStopped = false;
  const engine = new FakeEngine(() => []);
  const newEngine = () => ({
    generate: engine.generate.bind(engine),
    start: async () => {},
    stop: async () => {
      isStopped = true;
    },
  });
  const variant = { engine: {} as EngineOptions, tokenIds: TOKENS };
  const work = { promptTokens: 2, outputTokens: 1, streams: [1] };
  await expect(measureSpeed([variant], work, 1, () => {}, newEngine)).rejects.toThrow('0 of 1');
  expect(isStopped).toBe(true);
});

test('medians are of each figure by itself', () => {
  const speed = (startMs: number, p50Ms: number, tokensPerSecond: number): Speed => ({
    startMs,
    levels: [{ streams: 4, p50Ms, p95Ms: 2 * p50Ms, requestsPerSecond: 1, tokensPerSecond }],
  });
  expect(medianSpeed([speed(1, 30, 100), speed(9, 10, 300), speed(5, 20, 900)])).toEqual(
    speed(5, 20, 300),
  );
});
