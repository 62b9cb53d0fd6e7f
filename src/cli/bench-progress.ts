import { Presets, SingleBar } from 'cli-progress';
import type { ArrivalOptions } from '../bench/arrivals.ts';
import type { BenchmarkProgress } from '../bench/benchmark.ts';
import { arrivalLabel } from '../bench/labels.ts';
import type { RequestRecord } from '../bench/recorder.ts';

/** A bar on stderr for every run. */
export class BenchProgressBar implements BenchmarkProgress {
  readonly #total: number;
  #bar: SingleBar | undefined;
  #failed = 0;

  constructor(total: number) {
    this.#total = total;
  }

  start(arrivals: ArrivalOptions): void {
    this.#failed = 0;
    this.#bar = new SingleBar(
      {
        format: `${arrivalLabel(arrivals)} |{bar}| {value}/{total} requests, {failed} failed`,
        // Without a terminal, a line now and then.
        noTTYOutput: true,
        notTTYSchedule: 5000,
        hideCursor: true,
        clearOnComplete: true,
      },
      Presets.shades_classic,
    );
    this.#bar.start(this.#total, 0, { failed: 0 });
  }

  end({ error }: RequestRecord): void {
    if (error !== null) this.#failed++;
    this.#bar?.increment(1, { failed: this.#failed });
  }

  stop(): void {
    this.#bar?.stop();
  }
}
