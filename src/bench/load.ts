import PQueue from 'p-queue';
import { setTimeout as sleep } from 'node:timers/promises';
import { RequestRecorder, type RequestRecord } from './recorder.ts';
import type { WorkItem } from './workload.ts';

export interface LoadOptions {
  /** When each item is due, in milliseconds from the start, ascending. */
  readonly arrivals: readonly number[];
  /** Most requests in flight; further ones wait here, which their latencies leave out. */
  readonly maxConcurrency: number;
  readonly send: (item: WorkItem, recorder: RequestRecorder) => Promise<RequestRecord>;
  readonly onEnd?: (record: RequestRecord) => void;
}

export interface LoadResult {
  /** In the order of the items. */
  readonly records: readonly RequestRecord[];
  /** From the start until the last answer ended. */
  readonly durationMs: number;
}

/** Sends every item when it is due and waits for all answers. */
export async function runLoad(
  items: readonly WorkItem[],
  { arrivals, maxConcurrency, send, onEnd }: LoadOptions,
): Promise<LoadResult> {
  const queue = new PQueue({ concurrency: maxConcurrency });
  const start = performance.now();
  const now = () => performance.now() - start;
  const records: Promise<RequestRecord>[] = [];
  for (const [index, item] of items.entries()) {
    const dueMs = arrivals[index] ?? 0;
    // Timers count whole milliseconds and may go off early: one due within half of one is due.
    while (dueMs - now() > 0.5) await sleep(dueMs - now());
    records.push(
      queue.add(async () => {
        const record = await send(item, new RequestRecorder(now, dueMs, item.promptTokens));
        onEnd?.(record);
        return record;
      }),
    );
  }
  return { records: await Promise.all(records), durationMs: now() };
}
