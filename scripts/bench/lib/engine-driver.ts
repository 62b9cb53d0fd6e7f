import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineRequest } from '../../../src/engine/request.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import { type OpenedEngine, openEngine } from '../../../src/engine/process/open-engine.ts';
import type { Precision } from '../../../src/model/manifest.ts';
import { benchModel } from './bench-model.ts';

/** A request and when it comes, in milliseconds from the start. */
export interface Arrival {
  readonly atMs: number;
  readonly request: EngineRequest;
}

/** Outcome of one request. */
export interface Served {
  readonly tokenIds: readonly number[];
  /** Arrival times of its tokens, in milliseconds from the start. */
  readonly tokenMs: readonly number[];
  readonly ttftMs: number;
  readonly numCachedTokens: number;
}

/**
 * An engine in this process, with the kernels that a server takes.
 * @param folder of a model; null for the SmolLM2-135M shape with random weights
 */
export async function openBenchEngine(
  options: Partial<EngineOptions> = {},
  precision: Precision = 'fp32',
  folder: string | null = null,
): Promise<OpenedEngine> {
  return openEngine({
    model: await benchModel(precision, 'auto', folder),
    maxNumSeqs: 16,
    maxModelLen: 2048,
    maxNumBatchedTokens: 512,
    threads: 0,
    kvCacheMemory: 8 * 2 ** 30,
    prefixCaching: false,
    targetItlMs: null,
    ...options,
  });
}

/**
 * Serves requests as they come, in real time, until all are done.
 * @param batchSize for static batching: that many join at once, when those before have ended
 */
export async function serve(
  { engine }: OpenedEngine,
  arrivals: readonly Arrival[],
  batchSize: number | null = null,
): Promise<Map<number, Served>> {
  const pending = [...arrivals].sort((a, b) => a.atMs - b.atMs);
  const cameAt = new Map(arrivals.map(({ request, atMs }) => [request.id, atMs]));
  const served = new Map<number, { tokenIds: number[]; tokenMs: number[]; cached: number }>();
  const start = performance.now();
  while (pending.length > 0 || engine.hasWork) {
    const now = performance.now() - start;
    let room = batchSize === null ? Infinity : engine.hasWork ? 0 : batchSize;
    for (; room > 0 && pending[0] && pending[0].atMs <= now; room--) {
      engine.add(takeFirst(pending).request);
    }
    if (!engine.hasWork) await sleep(Math.max(0, (pending[0]?.atMs ?? 0) - now));
    for (const { id, tokenId, error, numCachedTokens } of engine.step()) {
      if (error !== undefined) throw new Error(error);
      const entry = served.get(id) ?? { tokenIds: [], tokenMs: [], cached: 0 };
      entry.tokenIds.push(tokenId);
      entry.tokenMs.push(performance.now() - start);
      entry.cached += numCachedTokens ?? 0;
      served.set(id, entry);
    }
  }
  return new Map(
    [...served].map(([id, { tokenIds, tokenMs, cached }]) => [
      id,
      {
        tokenIds,
        tokenMs,
        ttftMs: (tokenMs[0] ?? NaN) - (cameAt.get(id) ?? 0),
        numCachedTokens: cached,
      },
    ]),
  );
}

/** Times between one token and the next, of all requests, within a span. */
export function interTokenMs(
  served: Iterable<Served>,
  fromMs = 0,
  toMs = Number.POSITIVE_INFINITY,
): number[] {
  return [...served].flatMap(({ tokenMs }) =>
    tokenMs.slice(1).flatMap((at, index) => {
      const before = tokenMs[index] ?? at;
      return before >= fromMs && before <= toMs ? [at - before] : [];
    }),
  );
}

function takeFirst(pending: Arrival[]): Arrival {
  const [first] = pending.splice(0, 1);
  if (!first) throw new Error('nothing is pending');
  return first;
}
