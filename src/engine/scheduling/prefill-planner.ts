import type { CostModel } from './cost-model.ts';
import type { PrefillBudget } from './prefill-budget.ts';
import type { Sequence } from '../sequence.ts';
import type { DecodeRow, PrefillChunk, PrefillRun } from '../step.ts';

export interface PrefillRequest {
  /** With a row and more than one token to compute, in order. */
  readonly sequences: readonly Sequence[];
  /** Prompts yet to be computed: besides those, the ones that could have a row and have none yet. */
  readonly numPrompts: number;
  /** The iteration's decode run. */
  readonly decode: readonly DecodeRow[];
  readonly maxTokens: number;
  readonly budget: PrefillBudget;
  readonly costs: CostModel;
  /** The whole iteration is one run, whatever is in it: all prefill goes beside the decode run. */
  readonly isOneRun?: boolean;
  /** Asks for memory; see KvCache.grow. */
  readonly grow: (sequence: Sequence, length: number) => boolean;
}

/**
 * The prefill of one iteration. With nobody decoding, prompts are taken whole up to `maxTokens`;
 * beside a decode run only as much as the budget has time for, by what steps have been measured to
 * cost.
 */
export function planPrefill(request: PrefillRequest): PrefillRun[] {
  const chunks = planChunks(request);
  return request.isOneRun ? chunks.map((chunk) => [chunk]) : joinFresh(chunks, request);
}

function planChunks(request: PrefillRequest): PrefillChunk[] {
  const { sequences, numPrompts, decode, maxTokens, budget, costs, isOneRun } = request;
  const decodeMs = costs.decodeMs(decode);
  const availableMs = budget.availableMs(decodeMs, numPrompts);
  let spentMs = 0;
  let budgetTokens = maxTokens;
  const chunks: PrefillChunk[] = [];
  for (const sequence of sequences) {
    const start = sequence.numComputedTokens;
    const wanted = Math.min(sequence.numUncomputedTokens, budgetTokens);
    const atLeast = chunks.length === 0 ? Math.min(budget.minChunk, wanted) : 0;
    // The first run shares the decode run's matrix products; see Decoder.
    const isBeside = decode.length > 0 && (isOneRun || chunks.length === 0);
    const costMs = (tokens: number) => {
      const chunk = [{ start, length: tokens }];
      return isBeside ? costs.besideDecodeMs(chunk) : costs.prefillMs(chunk);
    };
    const length = Math.max(atLeast, mostWithin(availableMs - spentMs, wanted, costMs));
    if (length <= 0) break;
    const chunk = { sequence, start, length };
    chunks.push(chunk);
    spentMs += costMs(length);
    budgetTokens -= length;
  }
  budget.settle(decodeMs, numPrompts, spentMs);
  return chunks;
}

/** The most tokens, up to `limit`, whose cost is within `budgetMs`; may be 0. */
function mostWithin(budgetMs: number, limit: number, costMs: (tokens: number) => number): number {
  let [low, high] = [0, limit];
  while (low < high) {
    const tokens = Math.ceil((low + high) / 2);
    if (costMs(tokens) <= budgetMs) low = tokens;
    else high = tokens - 1;
  }
  return low;
}

/**
 * Puts whole fresh prompts in neighbouring rows into one run, padded to the longest, where that
 * costs less than a run for each.
 */
function joinFresh(chunks: readonly PrefillChunk[], { costs, grow }: PrefillRequest): PrefillRun[] {
  const runs: PrefillChunk[][] = [];
  for (const chunk of [...chunks].sort((a, b) => a.sequence.row - b.sequence.row)) {
    const run = runs.at(-1);
    const before = run?.at(-1);
    if (run && before && isWhole(chunk) && isWhole(before) && areNeighbours(before, chunk)) {
      const joined = [...run, chunk];
      const saves = costs.prefillMs(joined) < costs.prefillMs(run) + costs.prefillMs([chunk]);
      const width = Math.max(...joined.map(({ length }) => length));
      if (saves && joined.every(({ sequence }) => grow(sequence, width))) {
        run.push(chunk);
        continue;
      }
    }
    runs.push([chunk]);
  }
  return runs;
}

/** All of a sequence's tokens, so that nothing of it is cached yet. */
function isWhole({ sequence, length }: PrefillChunk): boolean {
  return length === sequence.numTokens;
}

function areNeighbours(a: PrefillChunk, b: PrefillChunk): boolean {
  return a.sequence.row + 1 === b.sequence.row;
}
