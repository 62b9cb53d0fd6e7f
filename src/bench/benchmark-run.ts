import type { ArrivalOptions } from './arrivals.ts';
import type { BenchMetrics } from './bench-metrics.ts';
import type { RequestRecord } from './recorder.ts';

/** Requests of a benchmark, and how they went. */
export interface BenchmarkRun {
  readonly startedAt: Date;
  readonly arrivals: ArrivalOptions;
  readonly records: readonly RequestRecord[];
  readonly durationMs: number;
  readonly metrics: BenchMetrics;
  /** Left out where all requests were sent and have ended. */
  readonly isInterrupted?: boolean;
}
