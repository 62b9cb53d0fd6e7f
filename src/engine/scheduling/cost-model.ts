import { RunningFit } from './online-regression.ts';
import type { PrefillRun, StepPlan } from '../step.ts';

/** How long the parts of a step took, in milliseconds. */
export interface StepTimings {
  /** Of the decode run; 0 without one. */
  readonly decodeMs: number;
  /** Of each prefill run, in the plan's order. */
  readonly prefillMs: readonly number[];
  /**
   * Of the decode run and the first prefill run, where they were one: their own times are then 0.
   * Null or left out where they ran apart.
   */
  readonly mixedMs?: number | null;
  /** Of each verify run, in the plan's order. */
  readonly verifyMs?: readonly number[];
  /** Of a step that was one run of everything; its parts then say nothing. */
  readonly stepMs?: number;
}

/** A run this many times slower than expected was interrupted: it says nothing about its cost. */
const OUTLIER = 3;
/** The same for verify runs, which are judged against decode runs: rare interruptions must not tell. */
const SHARP_OUTLIER = 1.5;
const WARM_UP_SAMPLES = 8;

/**
 * What steps cost on this machine, learned from the steps themselves. Decode runs cost by row and by
 * cached position; prefill runs by run, by token, by token times position, and by position cached
 * before the run (attention rearranges the keys of those once for all tokens); verify runs so many
 * times a decode run of one row in the same place, by draft token.
 */
export class CostModel {
  readonly #decode = new RunningFit([5, 1, 0.001]);
  readonly #prefill = new RunningFit([5, 0.5, 0.0001, 0.001]);
  /** What a step's first prefill run adds to its decode run. */
  readonly #beside = new RunningFit([5, 0.5, 0.0001, 0.001]);
  /** Relative to `#decode`; a decode run of one row is one without draft tokens. */
  readonly #verify = new RunningFit([1, 0.1, 0.2]);
  #numSamples = 0;
  #numDecodeRuns = 0;
  #numBeside = 0;

  /** Whether enough decode runs were timed for others to be measured by them. */
  get knowsDecode(): boolean {
    return this.#numDecodeRuns >= WARM_UP_SAMPLES;
  }

  observe(plan: StepPlan, timings: StepTimings): void {
    const { decodeMs, prefillMs, verifyMs, mixedMs = null, stepMs } = timings;
    if (stepMs !== undefined) {
      this.#observeWhole(plan, stepMs);
      return;
    }
    const isMixed = mixedMs !== null;
    if (plan.decode.length > 0 && !isMixed) {
      if (plan.decode.length === 1) this.#addVerify(plan.decode, 0, decodeMs);
      this.#addDecode(plan.decode, decodeMs);
    }
    for (const [index, run] of plan.prefill.entries()) {
      const isBeside = index === 0 && plan.decode.length > 0;
      const extraMs = isMixed ? Math.max(0, mixedMs - this.decodeMs(plan.decode)) : prefillMs[0];
      if (isBeside) this.#addBeside(run, extraMs ?? 0);
      if (!isBeside || !isMixed) {
        this.#add(this.#prefill, prefillFeatures(run), prefillMs[index] ?? 0);
      }
    }
    for (const [index, { sequence, draftTokenIds }] of (plan.verify ?? []).entries()) {
      const rows = [{ position: sequence.numComputedTokens }];
      this.#addVerify(rows, draftTokenIds.length, verifyMs?.[index] ?? 0);
    }
  }

  decodeMs(rows: readonly { readonly position: number }[]): number {
    return rows.length === 0 ? 0 : this.#decode.predict(decodeFeatures(rows));
  }

  /**
   * A decode run of few rows, to weigh verify runs and what drafts cost against: on small models
   * `decodeMs` errs to the dear side by far.
   */
  plainMs(rows: readonly { readonly position: number }[]): number {
    return this.decodeMs(rows) * this.#verify.predict(verifyFeatures(0));
  }

  /** One sequence's last token at `position` and that many draft tokens after it; see `plainMs`. */
  verifyMs(position: number, numDraftTokens: number): number {
    return this.decodeMs([{ position }]) * this.#verify.predict(verifyFeatures(numDraftTokens));
  }

  prefillMs(chunks: readonly { readonly start: number; readonly length: number }[]): number {
    return this.#prefill.predict(prefillFeatures(chunks));
  }

  /**
   * What a step's first prefill run adds to its decode run; as dear as a run of its own until some
   * were timed, so that the first of them is not too long by far.
   */
  besideDecodeMs(chunks: readonly { readonly start: number; readonly length: number }[]): number {
    const fit = this.#numBeside < WARM_UP_SAMPLES ? this.#prefill : this.#beside;
    return fit.predict(prefillFeatures(chunks));
  }

  /** Takes a step's time apart by what its parts were expected to cost. */
  #observeWhole({ decode, prefill, verify = [] }: StepPlan, stepMs: number): void {
    const isBeside = decode.length > 0;
    const prefillMs = prefill.map((run) =>
      isBeside ? this.besideDecodeMs(run) : this.prefillMs(run),
    );
    const verifyMs = verify.map(({ sequence, draftTokenIds }) =>
      this.verifyMs(sequence.numComputedTokens, draftTokenIds.length),
    );
    const decodeMs = this.decodeMs(decode);
    const expected = [decodeMs, ...prefillMs, ...verifyMs].reduce((sum, ms) => sum + ms, 0);
    const share = expected > 0 ? stepMs / expected : 0;
    if (decode.length === 1) this.#addVerify(decode, 0, decodeMs * share);
    if (decode.length > 0) this.#addDecode(decode, decodeMs * share);
    for (const [index, run] of prefill.entries()) {
      const ms = (prefillMs[index] ?? 0) * share;
      if (isBeside) this.#addBeside(run, ms);
      else this.#add(this.#prefill, prefillFeatures(run), ms);
    }
    for (const [index, { sequence, draftTokenIds }] of verify.entries()) {
      const rows = [{ position: sequence.numComputedTokens }];
      this.#addVerify(rows, draftTokenIds.length, (verifyMs[index] ?? 0) * share);
    }
  }

  #addBeside(run: PrefillRun, ms: number): void {
    this.#numBeside++;
    this.#add(this.#beside, prefillFeatures(run), ms);
  }

  #addDecode(rows: readonly { readonly position: number }[], ms: number): void {
    this.#numDecodeRuns++;
    this.#add(this.#decode, decodeFeatures(rows), ms);
  }

  #addVerify(rows: readonly { readonly position: number }[], numDraftTokens: number, ms: number) {
    const plainMs = this.decodeMs(rows);
    if (plainMs === 0 || !this.knowsDecode) return;
    this.#add(this.#verify, verifyFeatures(numDraftTokens), ms / plainMs, SHARP_OUTLIER);
  }

  #add(fit: RunningFit, features: readonly number[], value: number, outlier = OUTLIER): void {
    const expected = fit.predict(features);
    // What is expected to cost nothing has no bound: from there it could never rise again.
    if (this.#numSamples++ > WARM_UP_SAMPLES && expected > 0 && value > outlier * expected) {
      // Counted at the bound, so that a machine that did become slow is followed all the same.
      fit.add(features, outlier * expected);
    } else {
      fit.add(features, value);
    }
  }
}

/** What a decode run costs by: 1 for the run, its rows, and the positions cached before their tokens. */
export function decodeFeatures(
  rows: readonly { readonly position: number }[],
): [run: number, rows: number, positions: number] {
  return [1, rows.length, rows.reduce((sum, { position }) => sum + position, 0)];
}

/** The first draft token costs more than the others: matrices times a vector become products. */
function verifyFeatures(numDraftTokens: number): number[] {
  return [1, Math.min(1, numDraftTokens), numDraftTokens];
}

/**
 * What a prefill run costs by: 1 for the run, its tokens, the positions that those attend to, and the
 * positions cached before the run. Shorter prompts are padded to the longest: they cost as much.
 */
export function prefillFeatures(
  run: readonly { readonly start: number; readonly length: number }[],
): [run: number, tokens: number, attended: number, cached: number] {
  const width = Math.max(...run.map(({ length }) => length));
  const tokens = width * run.length;
  const attended = run.reduce((sum, { start }) => sum + width * (start + width / 2), 0);
  const cached = run.reduce((sum, { start }) => sum + start, 0);
  return [1, tokens, attended, cached];
}
