import { LatencyHistogram } from './latency-histogram.ts';

/** Turns that a part of the window lasts, and its parts. */
const TURNS_PER_PART = 12;
const NUM_PARTS = 5;

/** Turns that `summary` looks back, at most. */
export const WINDOW_TURNS = TURNS_PER_PART * NUM_PARTS;

export interface LatencySummary {
  readonly count: number;
  /** In milliseconds; NaN of no times. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** How long something took in the last turns; somebody with a clock says when one is over. */
export class RecentLatency {
  /** Times of the current turn, and of the one before. */
  #current = new LatencyHistogram();
  #last = new LatencyHistogram();
  readonly #parts = Array.from({ length: NUM_PARTS }, () => new LatencyHistogram());
  #numTurns = 0;

  add(ms: number): void {
    this.#current.add(ms);
  }

  /** Ends a turn. @returns its times; to be read before the next turn */
  turn(): LatencyHistogram {
    const part = this.#parts[Math.floor(this.#numTurns / TURNS_PER_PART) % NUM_PARTS];
    if (this.#numTurns % TURNS_PER_PART === 0) part?.clear();
    part?.addAll(this.#current);
    this.#numTurns++;
    const ended = this.#current;
    this.#last.clear();
    this.#current = this.#last;
    this.#last = ended;
    return ended;
  }

  /** Summary of the last WINDOW_TURNS turns, or one part less, and of the current one. */
  summary(): LatencySummary {
    const all = new LatencyHistogram();
    for (const part of [...this.#parts, this.#current]) all.addAll(part);
    return {
      count: all.size,
      p50: all.quantile(0.5),
      p90: all.quantile(0.9),
      p99: all.quantile(0.99),
    };
  }
}
