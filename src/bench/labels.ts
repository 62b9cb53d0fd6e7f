import type { ArrivalOptions } from './arrivals.ts';
import type { LatencyName } from './bench-metrics.ts';

export const LATENCY_TITLES: Readonly<Record<LatencyName, string>> = {
  ttft: 'Time to first token',
  tpot: 'Time per output token',
  itl: 'Inter-token latency',
  e2el: 'End-to-end latency',
};

/** Name of a run's load, such as `4 req/s`. */
export function arrivalLabel({ rate, rampUp }: ArrivalOptions): string {
  if (rampUp) return `${rampUp.startRate} to ${rampUp.endRate} req/s, ${rampUp.strategy}`;
  return rate === Infinity ? 'all at once' : `${rate} req/s`;
}
