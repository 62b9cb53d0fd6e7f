import type { Engine } from '../../front/engine-process/engine-contract.ts';
import { percentile } from '../../bench/statistics.ts';
import { plainRequest } from '../../front/generation/plain-request.ts';
import { NEVER_ABORTED } from '../../front/never-aborted.ts';
import type { Level } from './comparison.ts';

export interface RequestLoad {
  /** Prompts of the requests, in order; taken again from the first one. */
  readonly prompts: readonly Int32Array[];
  /** Number of tokens that each request generates, exactly. */
  readonly outputTokens: number;
  /** Requests that run at once: as one ends, the next one begins. */
  readonly streams: number;
  readonly numRequests: number;
}

/** Has an engine work on requests. @throws EngineError if it fails one */
export async function runRequests(
  engine: Pick<Engine, 'generate'>,
  { prompts, outputTokens, streams, numRequests }: RequestLoad,
): Promise<Level> {
  const waiting = Array.from({ length: numRequests }, (_, index) => index).values();
  const latencies: number[] = [];
  const stream = async () => {
    for (const index of waiting) {
      const startedAt = performance.now();
      await runOne(engine, prompts[index % prompts.length] ?? new Int32Array(), outputTokens);
      latencies.push(performance.now() - startedAt);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: streams }, stream));
  const seconds = (performance.now() - startedAt) / 1000;
  const sorted = Float64Array.from(latencies).sort();
  return {
    streams,
    p50Ms: percentile(sorted, 50),
    p95Ms: percentile(sorted, 95),
    requestsPerSecond: numRequests / seconds,
    tokensPerSecond: (numRequests * outputTokens) / seconds,
  };
}

async function runOne(
  engine: Pick<Engine, 'generate'>,
  promptTokenIds: Int32Array,
  maxTokens: number,
): Promise<void> {
  // Without stop tokens never shorter: all variants do the same work.
  const request = plainRequest(promptTokenIds, maxTokens);
  let numTokens = 0;
  for await (const { tokenIds } of engine.generate(request, NEVER_ABORTED))
    numTokens += tokenIds.length;
  if (numTokens !== maxTokens) throw new Error(`${numTokens} of ${maxTokens} tokens came`);
}
