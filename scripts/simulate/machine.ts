import type { ServiceLevel } from './metrics.ts';
import { decodeFeatures, prefillFeatures } from '../../src/engine/costs/cost-model.ts';
import { paddedSpans, type SlotRuns, widthOf } from '../../src/engine/cpu/slot-layout.ts';
import type { Span, TimedRun } from '../../src/engine/timed-run.ts';
import type { WindowShape } from '../../src/engine/windows/window-budget.ts';
import type { CacheOperation } from '../../src/engine/cache-operation.ts';

/** Time of a machine for each part of a step, in milliseconds. */
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
  /** Layers with a sliding window, whose memory behind it is given back; none if left out. */
  readonly windows?: Pick<WindowShape, 'window' | 'width' | 'windowedWidth'>;
  /** Level that its users expect. */
  readonly serviceLevel: ServiceLevel;
}

/** How long the machine takes for copies within the cache. */
export function copyMs(costs: StepCosts, operations: readonly CacheOperation[]): number {
  let copied = 0;
  for (const operation of operations) {
    if (operation.type === 'copy') copied += operation.length;
  }
  return copied * costs.perCopiedToken;
}

/** How long the machine takes for a step's runs. */
export function timedRunsOf(costs: StepCosts, { decode, prefill }: SlotRuns): TimedRun[] {
  const chunks = prefill.map((run) => paddedSpans(run, widthOf(run)));
  if (decode.length === 0) return chunks.map((spans) => prefillRun(costs, spans));
  const [first = [], ...others] = chunks;
  return [mixedRun(costs, decode, first), ...others.map((spans) => prefillRun(costs, spans))];
}

/** A decode run, mixed with a prefill run: the weights are read once for both. */
export function mixedRun(
  costs: StepCosts,
  decode: readonly Span[],
  prefill: readonly Span[],
): TimedRun {
  const prefillMore = prefill.length > 0 ? prefillMs(costs, prefill) - costs.prefill.perRun : 0;
  return { decode, prefill, verify: [], ms: decodeMs(costs, decode) + prefillMore };
}

function prefillRun(costs: StepCosts, spans: readonly Span[]): TimedRun {
  return { decode: [], prefill: spans, verify: [], ms: prefillMs(costs, spans) };
}

function decodeMs({ decode }: StepCosts, spans: readonly Span[]): number {
  const [, numSlots, positions] = decodeFeatures(spans);
  return decode.perRun + decode.perRow * numSlots + decode.perPosition * positions;
}

function prefillMs({ prefill }: StepCosts, spans: readonly Span[]): number {
  const [, tokens, attended, cached] = prefillFeatures(spans);
  return (
    prefill.perRun +
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
