/** A benchmark: warm-up, then one run for each request rate. */
import { arrivalTimes, type ArrivalOptions } from './arrivals.ts';
import type { BenchmarkRun } from './benchmark-run.ts';
import { BenchError } from './bench-error.ts';
import { runLoad } from './load.ts';
import { computeMetrics, type MetricOptions } from './bench-metrics.ts';
import { Random } from './random.ts';
import { type RequestRecord, RequestRecorder } from './recorder.ts';
import { type BodyOptions, requestBody } from './backend.ts';
import type { SseClient } from './sse-client.ts';
import type { WorkItem } from './workload.ts';

export interface BenchmarkOptions extends MetricOptions {
  readonly client: SseClient;
  readonly body: BodyOptions;
  /** Draws that many requests. */
  readonly workload: (count: number, random: Random) => WorkItem[];
  readonly numPrompts: number;
  readonly numWarmups: number;
  readonly seed: number;
  /** One run each. */
  readonly arrivals: readonly ArrivalOptions[];
  readonly maxConcurrency: number;
  readonly progress?: BenchmarkProgress;
}

export interface BenchmarkProgress {
  start(arrivals: ArrivalOptions): void;
  end(record: RequestRecord): void;
  stop(): void;
}

/** The run at hand. */
interface RunningBenchmark {
  readonly startedAt: Date;
  readonly arrivals: ArrivalOptions;
  readonly startMs: number;
  /** In order of their end. */
  readonly records: RequestRecord[];
}

export class Benchmark {
  readonly #options: BenchmarkOptions;
  readonly #random: Random;
  readonly #runs: BenchmarkRun[] = [];
  #current: RunningBenchmark | null = null;

  constructor(options: BenchmarkOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  /** @throws {BenchError} if the server fails the warm-up */
  async run(): Promise<readonly BenchmarkRun[]> {
    await this.#warmUp();
    for (const arrivals of this.#options.arrivals) this.#runs.push(await this.#run(arrivals));
    return this.#runs;
  }

  /** Runs that have ended, and what there is of the one at hand. */
  soFar(): readonly BenchmarkRun[] {
    if (this.#current === null || this.#current.records.length === 0) return this.#runs;
    const { startedAt, arrivals, startMs, records } = this.#current;
    const durationMs = performance.now() - startMs;
    const metrics = computeMetrics(records, durationMs, this.#options);
    const run = { startedAt, arrivals, records, durationMs, metrics, isInterrupted: true };
    return [...this.#runs, run];
  }

  /** One after another, so that the first failure speaks for itself. */
  async #warmUp(): Promise<void> {
    const { workload, numWarmups, client, body } = this.#options;
    for (const item of workload(numWarmups, this.#random)) {
      const recorder = new RequestRecorder(() => performance.now(), 0, item.promptTokens);
      const { error } = await client.stream(requestBody(item, body), recorder);
      if (error !== null) throw new BenchError(`the warm-up request failed: ${error}`);
    }
  }

  async #run(arrivals: ArrivalOptions): Promise<BenchmarkRun> {
    const { workload, client, body, numPrompts, maxConcurrency, progress } = this.#options;
    const items = workload(numPrompts, this.#random);
    const startedAt = new Date();
    const ended: RequestRecord[] = [];
    progress?.start(arrivals);
    this.#current = { startedAt, arrivals, startMs: performance.now(), records: ended };
    const { records, durationMs } = await runLoad(items, {
      arrivals: arrivalTimes(numPrompts, arrivals, this.#random),
      maxConcurrency,
      send: (item, recorder) => client.stream(requestBody(item, body), recorder),
      onEnd(record) {
        ended.push(record);
        progress?.end(record);
      },
    }).finally(() => progress?.stop());
    this.#current = null;
    const metrics = computeMetrics(records, durationMs, this.#options);
    return { startedAt, arrivals, records, durationMs, metrics };
  }
}
