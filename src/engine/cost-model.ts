import { RunningFit } from './running-fit.ts';
import type { PrefillRun, StepPlan } from './step-plan.ts';

/** How long the parts of a step took, in milliseconds. */
export interface StepTimings {
  /** Of the decode run; 0 without one. */
  readonly decodeMs: number;
  /** Of each prefill run, in the plan's order. */
  readonly prefillMs: readonly number[];
  /** Of each verify run, in the plan's order. */
  readonly verifyMs?: readonly number[];
}

/** A run this many times slower than expected was interrupted: it says nothing about its cost. */
const OUTLIER = 3;
const WARM_UP_SAMPLES = 8;

/**
 * What steps cost on this machine, learned from the steps themselves. Decode runs cost by row and by
 * cached position; prefill runs by run, by token and by token times position; verify runs, by draft
 * token, as much as some decode runs of one row in the same place.
 */
export class CostModel {
  readonly #decode = new RunningFit([5, 1, 0.001]);
  readonly #prefill = new RunningFit([5, 0.5, 0.0001]);
  readonly #verify = new RunningFit([1, 0.2]);
  #numSamples = 0;

  observe(plan: StepPlan, { decodeMs, prefillMs, verifyMs }: StepTimings): void {
    if (plan.decode.length > 0) this.#add(this.#decode, decodeFeatures(plan.decode), decodeMs);
    for (const [index, run] of plan.prefill.entries()) {
      this.#add(this.#prefill, prefillFeatures(run), prefillMs[index] ?? 0);
    }
    for (const [index, { sequence, draftTokenIds }] of (plan.verify ?? []).entries()) {
      const oneRowMs = this.decodeMs([{ position: sequence.numComputedTokens }]);
      const ms = verifyMs?.[index] ?? 0;
      if (oneRowMs > 0) this.#add(this.#verify, [1, draftTokenIds.length], ms / oneRowMs);
    }
  }

  decodeMs(rows: readonly { readonly position: number }[]): number {
    return rows.length === 0 ? 0 : this.#decode.predict(decodeFeatures(rows));
  }

  /** One sequence's last token at `position` and that many draft tokens after it. */
  verifyMs(position: number, numDraftTokens: number): number {
    return this.decodeMs([{ position }]) * this.#verify.predict([1, numDraftTokens]);
  }

  prefillMs(chunks: readonly { readonly start: number; readonly length: number }[]): number {
    return this.#prefill.predict(prefillFeatures(chunks));
  }

  /** Tokens of one sequence, from position `start`, that prefill within `budgetMs`; may be 0. */
  prefillTokensWithin(budgetMs: number, start: number, maxTokens: number): number {
    let [low, high] = [0, maxTokens];
    while (low < high) {
      const length = Math.ceil((low + high) / 2);
      if (this.prefillMs([{ start, length }]) <= budgetMs) low = length;
      else high = length - 1;
    }
    return low;
  }

  #add(fit: RunningFit, features: readonly number[], ms: number): void {
    const expected = fit.predict(features);
    if (this.#numSamples++ > WARM_UP_SAMPLES && ms > OUTLIER * expected) {
      // Counted at the bound, so that a machine that did become slow is followed all the same.
      fit.add(features, OUTLIER * expected);
    } else {
      fit.add(features, ms);
    }
  }
}

function decodeFeatures(rows: readonly { readonly position: number }[]): number[] {
  return [1, rows.length, rows.reduce((sum, { position }) => sum + position, 0)];
}

/** Shorter prompts of a run are padded to the longest: they cost as much. */
function prefillFeatures(run: PrefillRun | readonly { start: number; length: number }[]): number[] {
  const width = Math.max(...run.map(({ length }) => length));
  const tokens = width * run.length;
  const attended = run.reduce((sum, { start }) => sum + width * (start + width / 2), 0);
  return [1, tokens, attended];
}
