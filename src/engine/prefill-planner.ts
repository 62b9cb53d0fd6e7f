import type { CostModel } from './cost-model.ts';
import type { Sequence } from './sequence.ts';
import type { DecodeRow, PrefillChunk, PrefillRun } from './step-plan.ts';

/**
 * Without a target of the user's, an iteration with prefill may take this many times as long as its
 * decode run alone.
 */
const DEFAULT_STRETCH = 1.4;
/** Prefill never stands still: the first in line computes at least so many tokens a step. */
const MIN_CHUNK = 16;

export interface PrefillRequest {
  /** With a row and more than one token to compute, in order. */
  readonly sequences: readonly Sequence[];
  /** The iteration's decode run. */
  readonly decode: readonly DecodeRow[];
  readonly maxTokens: number;
  readonly targetItlMs: number | null;
  readonly costs: CostModel;
  /** Asks for memory; see KvCache.grow. */
  readonly grow: (sequence: Sequence, length: number) => boolean;
}

/**
 * The prefill of one iteration. With nobody decoding, prompts are taken whole up to `maxTokens`;
 * beside a decode run only as much as keeps the iteration within the inter-token target, by what
 * steps have been measured to cost.
 */
export function planPrefill(request: PrefillRequest): PrefillRun[] {
  return joinFresh(planChunks(request), request);
}

function planChunks(request: PrefillRequest): PrefillChunk[] {
  const { sequences, decode, maxTokens, targetItlMs, costs } = request;
  const decodeMs = costs.decodeMs(decode);
  const target = targetItlMs ?? decodeMs * DEFAULT_STRETCH;
  let budgetMs = decode.length > 0 ? target - decodeMs : Infinity;
  let budgetTokens = maxTokens;
  const chunks: PrefillChunk[] = [];
  for (const sequence of sequences) {
    const start = sequence.numComputedTokens;
    const wanted = Math.min(sequence.numUncomputedTokens, budgetTokens);
    const atLeast = chunks.length === 0 ? Math.min(MIN_CHUNK, wanted) : 0;
    const length = Math.max(atLeast, costs.prefillTokensWithin(budgetMs, start, wanted));
    if (length <= 0) break;
    const chunk = { sequence, start, length };
    chunks.push(chunk);
    budgetMs -= costs.prefillMs([chunk]);
    budgetTokens -= length;
  }
  return chunks;
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
