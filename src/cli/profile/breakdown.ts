/** Where the time of requests goes, over all samples. */
import { summarize } from '../../bench/statistics.ts';
import type { Sample } from './sample.ts';

/** One after the other; what is not among them is `other`. */
const SEQUENCE = ['receive', 'tokenize', 'queue', 'prefill', 'decode', 'send'];

/** Goes on during `decode`. */
export const INSIDE = 'detokenize';

export interface Part {
  readonly name: string;
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly meanMs: number;
  /** Share of the mean time that clients wait, 0 to 1. */
  readonly share: number;
}

export interface Breakdown {
  readonly numRequests: number;
  /** Mean times. */
  readonly clientMs: number;
  readonly serverMs: number;
  /** In order, `network` first and last what the server does not account for. */
  readonly parts: readonly Part[];
  /** Goes on during another part. */
  readonly inside: Part;
  /** Means. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

/** @param samples at least one */
export function breakDown(samples: readonly Sample[]): Breakdown {
  const clientMs = mean(samples.map((sample) => sample.clientMs));
  const part = (name: string, of: (sample: Sample) => number): Part => {
    const summary = summarize(samples.map(of), [95]);
    return {
      name,
      medianMs: summary.median,
      p95Ms: summary.percentiles.get(95) ?? 0,
      meanMs: summary.mean,
      share: clientMs === 0 ? 0 : summary.mean / clientMs,
    };
  };
  return {
    numRequests: samples.length,
    clientMs,
    serverMs: mean(samples.map(({ serverMs }) => serverMs)),
    parts: [
      part('network', (sample) => Math.max(0, sample.clientMs - sample.serverMs)),
      ...SEQUENCE.map((stage) => part(stage, ({ stagesMs }) => stagesMs.get(stage) ?? 0)),
      part('other', otherMs),
    ],
    inside: part(INSIDE, ({ stagesMs }) => stagesMs.get(INSIDE) ?? 0),
    promptTokens: mean(samples.map(({ promptTokens }) => promptTokens)),
    cachedTokens: mean(samples.map(({ cachedTokens }) => cachedTokens)),
    outputTokens: mean(samples.map(({ outputTokens }) => outputTokens)),
  };
}

function otherMs({ serverMs, stagesMs }: Sample): number {
  const known = SEQUENCE.reduce((sum, stage) => sum + (stagesMs.get(stage) ?? 0), 0);
  return Math.max(0, serverMs - known);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
