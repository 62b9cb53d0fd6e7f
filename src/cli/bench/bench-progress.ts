import type { SingleBar } from 'cli-progress';
import type { ArrivalOptions } from '../../bench/arrivals.ts';
import type { BenchmarkProgress } from '../../bench/benchmark.ts';
import { arrivalLabel } from '../../bench/labels.ts';
import type { RequestRecord } from '../../bench/recorder.ts';
import { progressBar } from '../../serving/progress/progress-bar.ts';
import { SlowNotice } from '../../serving/progress/slow-notice.ts';

/** A bar on stderr for every run. */
export class BenchProgressBar implements BenchmarkProgress {
  readonly #total: number;
  #bar: SingleBar | undefined;
  #failed = 0;
  readonly #notice = new SlowNotice();

  constructor(total: number) {
    this.#total = total;
    this.#notice.begin('warming up');
  }

  start(arrivals: ArrivalOptions): void {
    this.#notice.end();
    this.#failed = 0;
    this.#bar = progressBar(
      `${arrivalLabel(arrivals)} |{bar}| {value}/{total} requests, {failed} failed`,
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
