import type { ServiceLevel } from './metrics.ts';
import { decodeFeatures, prefillFeatures } from '../../src/engine/scheduling/cost-model.ts';
import type { DecodeRow, PrefillRun, StepPlan } from '../../src/engine/step.ts';

/** What a machine takes for each part of a step, in milliseconds. */
export interface StepCosts {
  readonly decode: {
    readonly perRun: number;
    readonly perRow: number;
    /** For each position that is cached before a row's token. */
    readonly perPosition: number;
  };
  readonly prefill: {
    readonly perRun: number;
    readonly perToken: number;
    /** For each position that a token attends to. */
    readonly perTokenPosition: number;
    /** For each position that is cached before a run. */
    readonly perCachedPosition: number;
  };
  /** Moving one position of a row to another row. */
  readonly perCopiedToken: number;
}

/** A model on a machine, and how it is served there. */
export interface Machine {
  readonly description: string;
  readonly costs: StepCosts;
  readonly maxNumSeqs: number;
  readonly maxNumBatchedTokens: number;
  readonly maxModelLen: number;
  /** Memory of the KV cache, in tokens. */
  readonly kvCacheTokens: number;
  /** What its users expect. */
  readonly serviceLevel: ServiceLevel;
}

export interface StepDurations {
  readonly copyMs: number;
  readonly decodeMs: number;
  readonly prefillMs: readonly number[];
}

/** How long the machine takes for a step. */
export function stepDurations(costs: StepCosts, plan: StepPlan): StepDurations {
  let copied = 0;
  for (const operation of plan.cacheOperations) {
    if (operation.type === 'copy') copied += operation.length;
  }
  return {
    copyMs: copied * costs.perCopiedToken,
    decodeMs: decodeMs(costs, plan.decode),
    prefillMs: plan.prefill.map((run, index) =>
      prefillMs(costs, run, index === 0 && plan.decode.length > 0),
    ),
  };
}

function decodeMs({ decode }: StepCosts, rows: readonly DecodeRow[]): number {
  if (rows.length === 0) return 0;
  const [, numRows, positions] = decodeFeatures(rows);
  return decode.perRun + decode.perRow * numRows + decode.perPosition * positions;
}

/** Beside a decode run the weights are read once for both. */
function prefillMs({ prefill }: StepCosts, run: PrefillRun, isBeside: boolean): number {
  const [, tokens, attended, cached] = prefillFeatures(run);
  const perRun = isBeside ? 0 : prefill.perRun;
  return (
    perRun +
    prefill.perToken * tokens +
    prefill.perTokenPosition * attended +
    prefill.perCachedPosition * cached
  );
}

/**
 * Requests per second that the machine serves with every row in use, each prompt prefilled on its
 * own: what an offered load is measured against.
 * @param promptTokens mean of what is computed of a prompt
 * @param outputTokens mean
 */
export function capacityPerSecond(
  { costs, maxNumSeqs, kvCacheTokens }: Machine,
  promptTokens: number,
  outputTokens: number,
): number {
  const { decode, prefill } = costs;
  // Averaged over a request's life; long requests are longer in the batch than others.
  const meanPositions = promptTokens + outputTokens;
  const rows = Math.max(1, Math.min(maxNumSeqs, kvCacheTokens / meanPositions));
  const stepMs = decode.perRun + rows * (decode.perRow + decode.perPosition * meanPositions);
  const promptMs =
    prefill.perRun +
    promptTokens * (prefill.perToken + (prefill.perTokenPosition * promptTokens) / 2);
  return 1000 / (promptMs + (outputTokens * stepMs) / rows);
}
