import type { EngineOptions } from '../../engine/process/protocol.ts';
import { EngineClient } from '../../front/engine-process/engine-client.ts';
import { percentile } from '../../bench/statistics.ts';
import type { Level } from './comparison.ts';
import { runRequests } from './request-load.ts';

/** Each stream of a measurement runs this many requests, and no measurement has fewer than `LEAST`. */
const REQUESTS_PER_STREAM = 2;
const LEAST_REQUESTS = 8;

/** A variant that is ready to run. */
export interface Runnable {
  readonly engine: EngineOptions;
  /** Tokens of the evaluation data, of which prompts are made. */
  readonly tokenIds: Int32Array;
}

export interface SpeedWork {
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly streams: readonly number[];
}

export interface Speed {
  readonly startMs: number;
  readonly levels: readonly Level[];
}

/**
 * Measures variants in rounds, each in an engine process of its own while nothing else runs: a noise
 * that lasts for a while meets all of them. The order turns from round to round.
 * @param onDone receives the result of a variant's turn
 * @returns medians over the rounds, in the order of the variants
 */
export async function measureSpeed(
  variants: readonly Runnable[],
  work: SpeedWork,
  rounds: number,
  onDone: (index: number, speed: Speed) => void,
  newEngine: () => StartableEngine = () => new EngineClient(),
): Promise<readonly Speed[]> {
  const measured: Speed[][] = variants.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < variants.length; turn++) {
      const index = (turn + round) % variants.length;
      const variant = variants[index];
      if (variant === undefined) continue;
      const speed = await measureOnce(newEngine(), variant, work);
      measured[index]?.push(speed);
      onDone(index, speed);
    }
  }
  return measured.map((speeds) => medianSpeed(speeds));
}

type StartableEngine = Pick<EngineClient, 'start' | 'stop' | 'generate'>;

async function measureOnce(
  engine: StartableEngine,
  { engine: options, tokenIds }: Runnable,
  { promptTokens, outputTokens, streams }: SpeedWork,
): Promise<Speed> {
  const startedAt = performance.now();
  await engine.start(options);
  const startMs = performance.now() - startedAt;
  try {
    const most = Math.max(...streams);
    const prompts = promptsOf(tokenIds, promptTokens, REQUESTS_PER_STREAM * most);
    const load = { prompts, outputTokens };
    await runRequests(engine, { ...load, streams: most, numRequests: most });
    const levels: Level[] = [];
    for (const count of streams) {
      const numRequests = Math.max(LEAST_REQUESTS, REQUESTS_PER_STREAM * count);
      levels.push(await runRequests(engine, { ...load, streams: count, numRequests }));
    }
    return { startMs, levels };
  } finally {
    await engine.stop();
  }
}

/** Stretches of the data, one after the other, from its start again where it ends. */
export function promptsOf(tokenIds: Int32Array, length: number, count: number): Int32Array[] {
  return Array.from({ length: count }, (_, index) =>
    Int32Array.from(
      { length },
      (_value, at) => tokenIds[(index * length + at) % tokenIds.length] ?? 0,
    ),
  );
}

/** Median of each figure by itself. */
export function medianSpeed(speeds: readonly Speed[]): Speed {
  const median = (value: (speed: Speed) => number) =>
    percentile(Float64Array.from(speeds, value).sort(), 50);
  const streams = speeds[0]?.levels.map((level) => level.streams) ?? [];
  return {
    startMs: median(({ startMs }) => startMs),
    levels: streams.map((count, index) => {
      const of = (name: keyof Level) => median(({ levels }) => levels[index]?.[name] ?? Number.NaN);
      return {
        streams: count,
        p50Ms: of('p50Ms'),
        p95Ms: of('p95Ms'),
        requestsPerSecond: of('requestsPerSecond'),
        tokensPerSecond: of('tokensPerSecond'),
      };
    }),
  };
}
