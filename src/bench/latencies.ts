/** The four latencies of a request that came whole, in milliseconds. */
import type { RequestRecord } from './recorder.ts';

/** Time to first token. */
export function ttftOf({ sentMs, chunkMs }: RequestRecord): number {
  return (chunkMs[0] ?? NaN) - sentMs;
}

/** End-to-end latency: from sending to the last piece of text. */
export function e2elOf({ sentMs, chunkMs }: RequestRecord): number {
  return (chunkMs.at(-1) ?? NaN) - sentMs;
}

/** Inter-token latencies: the gaps between pieces of text. */
export function itlsOf({ chunkMs }: RequestRecord): number[] {
  return chunkMs.slice(1).map((time, index) => time - (chunkMs[index] ?? NaN));
}

/** Time per output token after the first; null when there is only one. */
export function tpotOf(record: RequestRecord): number | null {
  if (record.outputTokens < 2) return null;
  return (e2elOf(record) - ttftOf(record)) / (record.outputTokens - 1);
}
