import type { RequestRecord } from './recorder.ts';

export interface Rates {
  /** Output tokens in each second since the first request was sent. */
  readonly tokensPerSecond: readonly number[];
  /** Requests in flight, as changes: from `atMs` on there are `count`. */
  readonly concurrency: readonly { readonly atMs: number; readonly count: number }[];
}

/** How a run went over time, by the requests that came whole. */
export function ratesOverTime(records: readonly RequestRecord[]): Rates {
  const start = records.reduce((least, { sentMs }) => Math.min(least, sentMs), Infinity);
  return { tokensPerSecond: tokensPerSecond(records, start), concurrency: concurrency(records) };
}

function tokensPerSecond(records: readonly RequestRecord[], startMs: number): number[] {
  const buckets: number[] = [];
  for (const { chunkMs, outputTokens } of records) {
    const tokensPerChunk = outputTokens / chunkMs.length;
    for (const time of chunkMs) {
      const second = Math.floor((time - startMs) / 1000);
      while (buckets.length <= second) buckets.push(0);
      buckets[second] = (buckets[second] ?? 0) + tokensPerChunk;
    }
  }
  return buckets;
}

function concurrency(records: readonly RequestRecord[]): Rates['concurrency'] {
  const changes = records.flatMap(({ sentMs, endMs }) => [
    { atMs: sentMs, change: 1 },
    { atMs: endMs, change: -1 },
  ]);
  // One that ends as another begins does not overlap it.
  changes.sort((a, b) => a.atMs - b.atMs || a.change - b.change);
  let count = 0;
  return changes.map(({ atMs, change }) => {
    count += change;
    return { atMs, count };
  });
}
