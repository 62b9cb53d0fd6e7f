/** Recent activity of a server, for those who look at it without Prometheus. */
import { STAGES } from '../../front/request-record.ts';
import { RecentLatency } from './recent-latency.ts';

/** To the first token, between tokens, to the last token; then the stages of a request's way. */
export const LATENCIES = ['ttft', 'itl', 'e2e', ...STAGES] as const;

export type LatencyName = (typeof LATENCIES)[number];

/** Activity of all models together. Counts are since the start. */
export class Activity {
  promptTokens = 0;
  generatedTokens = 0;
  /** Requests that ended, whole or not. */
  requests = 0;
  readonly #latencies: Readonly<Record<LatencyName, RecentLatency>>;

  constructor() {
    const entries = LATENCIES.map((name) => [name, new RecentLatency()] as const);
    // Each name has one.
    this.#latencies = Object.fromEntries(entries) as Record<LatencyName, RecentLatency>;
  }

  took(name: LatencyName, ms: number): void {
    this.#latencies[name].add(ms);
  }

  of(name: LatencyName): RecentLatency {
    return this.#latencies[name];
  }
}
