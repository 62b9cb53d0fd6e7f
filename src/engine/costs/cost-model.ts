import { OnlineRegression } from './online-regression.ts';
import type { Span, TimedRun } from '../timed-run.ts';

/** A run this many times slower than expected was interrupted: it says nothing about its cost. */
const OUTLIER = 3;
/** The same for verify runs. They are judged by their share of a decode run, so less is allowed. */
const SHARP_OUTLIER = 1.5;
const WARM_UP_SAMPLES = 8;

/**
 * Predicts the time of runs on this machine, learned from the runs themselves. A decode run costs by
 * slot and by cached position. A prefill run costs by run, by token, by token times position, and by
 * position cached before the run (attention rearranges those keys once for all tokens). A verify run is
 * a multiple, by draft token, of a decode run of one slot at the same position.
 */
export class CostModel {
  /** Whether the decoder computes a whole step in one run, so that all prefill is mixed. */
  readonly runsStepsWhole: boolean;
  readonly #decode = new OnlineRegression([5, 1, 0.001]);
  readonly #prefill = new OnlineRegression([5, 0.5, 0.0001, 0.001]);
  /** Time that prefill adds to the decode run that it is mixed with. */
  readonly #mixed = new OnlineRegression([5, 0.5, 0.0001, 0.001]);
  /** Relative to `#decode`; a decode run of one slot is one without draft tokens. */
  readonly #verify = new OnlineRegression([1, 0.1, 0.2]);
  #numSamples = 0;
  #numDecodeRuns = 0;
  #numMixedRuns = 0;

  constructor({ runsStepsWhole = false } = {}) {
    this.runsStepsWhole = runsStepsWhole;
  }

  /** Whether enough decode runs were timed for others to be measured by them. */
  get knowsDecode(): boolean {
    return this.#numDecodeRuns >= WARM_UP_SAMPLES;
  }

  observe({ decode, prefill, verify, ms }: TimedRun): void {
    if (verify.length > 0) this.#addVerify(verify, ms);
    else if (decode.length === 0) this.#add(this.#prefill, prefillFeatures(prefill), ms);
    else if (prefill.length === 0) this.#addDecode(decode, ms);
    else this.#addMixed(prefill, Math.max(0, ms - this.decodeMs(decode)));
  }

  /** Predicted time of a run that has not been observed yet, in milliseconds. */
  expectedMs({ decode, prefill, verify }: Omit<TimedRun, 'ms'>): number {
    if (verify.length > 0) {
      return verify.reduce((sum, { start, length }) => sum + this.verifyMs(start, length - 1), 0);
    }
    if (prefill.length === 0) return this.decodeMs(decode);
    if (decode.length === 0) return this.prefillMs(prefill);
    return this.decodeMs(decode) + this.mixedPrefillMs(prefill);
  }

  /** One token for each of these. */
  decodeMs(spans: readonly Pick<Span, 'start'>[]): number {
    return spans.length === 0 ? 0 : this.#decode.predict(decodeFeatures(spans));
  }

  /**
   * A decode run of few slots, to weigh verify runs and what drafts cost against: on small models
   * `decodeMs` is far too high for those.
   */
  plainMs(spans: readonly Pick<Span, 'start'>[]): number {
    return this.decodeMs(spans) * this.#verify.predict(verifyFeatures(0));
  }

  /** One sequence's last token at `position` and that many draft tokens after it; see `plainMs`. */
  verifyMs(position: number, numDraftTokens: number): number {
    const plainMs = this.decodeMs([{ start: position }]);
    return plainMs * this.#verify.predict(verifyFeatures(numDraftTokens));
  }

  /** A prefill run by itself. */
  prefillMs(spans: readonly Span[]): number {
    return this.#prefill.predict(prefillFeatures(spans));
  }

  /**
   * Time that prefill adds to the decode run that it is mixed with. Until a few mixed runs were timed,
   * it is assumed to cost as much as a run of its own, so that the first ones do not take far too long.
   */
  mixedPrefillMs(spans: readonly Span[]): number {
    const costs = this.#numMixedRuns < WARM_UP_SAMPLES ? this.#prefill : this.#mixed;
    return costs.predict(prefillFeatures(spans));
  }

  #addMixed(spans: readonly Span[], ms: number): void {
    this.#numMixedRuns++;
    this.#add(this.#mixed, prefillFeatures(spans), ms);
  }

  #addDecode(spans: readonly Span[], ms: number): void {
    if (spans.length === 1) this.#addVerify(spans, ms);
    this.#numDecodeRuns++;
    this.#add(this.#decode, decodeFeatures(spans), ms);
  }

  /**
   * Learns from a verify run. If it has several sequences, its features are a mean, weighted by what
   * each sequence would cost without a draft.
   */
  #addVerify(spans: readonly Span[], ms: number): void {
    const plainMs = spans.map((span) => this.decodeMs([span]));
    const totalMs = plainMs.reduce((sum, each) => sum + each, 0);
    if (totalMs === 0 || !this.knowsDecode) return;
    const features = [0, 0, 0];
    for (const [index, { length }] of spans.entries()) {
      const weight = (plainMs[index] ?? 0) / totalMs;
      for (const [at, feature] of verifyFeatures(length - 1).entries()) {
        features[at] = (features[at] ?? 0) + weight * feature;
      }
    }
    this.#add(this.#verify, features, ms / totalMs, SHARP_OUTLIER);
  }

  #add(costs: OnlineRegression, features: readonly number[], value: number, outlier = OUTLIER) {
    const expected = costs.predict(features);
    // An expected cost of 0 sets no bound: otherwise it could never rise again.
    if (this.#numSamples++ > WARM_UP_SAMPLES && expected > 0 && value > outlier * expected) {
      // Counted at the bound, so that a machine that did become slow is followed all the same.
      costs.add(features, outlier * expected);
    } else {
      costs.add(features, value);
    }
  }
}

/**
 * Features that a decode run costs by: 1 for the run, its slots, and the positions cached before their
 * tokens.
 */
export function decodeFeatures(
  spans: readonly Pick<Span, 'start'>[],
): [run: number, slots: number, positions: number] {
  return [1, spans.length, spans.reduce((sum, { start }) => sum + start, 0)];
}

/** The first draft token costs more than the others: matrix times vector becomes a matmul. */
function verifyFeatures(numDraftTokens: number): number[] {
  return [1, Math.min(1, numDraftTokens), numDraftTokens];
}

/**
 * Features that a prefill run costs by: 1 for the run, its tokens, the positions that those attend to,
 * and the positions cached before the run.
 */
export function prefillFeatures(
  spans: readonly Span[],
): [run: number, tokens: number, attended: number, cached: number] {
  let [tokens, attended, cached] = [0, 0, 0];
  for (const { start, length } of spans) {
    tokens += length;
    attended += length * (start + length / 2);
    cached += start;
  }
  return [1, tokens, attended, cached];
}
