import type { RequestRecord } from '../../../src/bench/recorder.ts';

/** A request sent at `sentMs` whose pieces came at `chunkMs`, one token each. */
export function record(
  sentMs: number,
  chunkMs: readonly number[],
  changes: Partial<RequestRecord> = {},
): RequestRecord {
  return {
    dueMs: sentMs,
    sentMs,
    chunkMs,
    endMs: chunkMs.at(-1) ?? sentMs,
    promptTokens: 10,
    outputTokens: chunkMs.length,
    error: null,
    ...changes,
  };
}
