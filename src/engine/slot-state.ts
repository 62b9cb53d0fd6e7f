import type { KvCache } from './kv-cache/kv-cache.ts';
import type { Sequence } from './sequence.ts';

/** A slot of the KV cache, for those who look into the engine. */
export interface SlotState {
  readonly slot: number;
  /** Sequence that runs in it; null if none does. */
  readonly sequence: SequenceState | null;
  /** Tokens of an ended text that it is kept for; 0 while something runs in it. */
  readonly numKeptTokens: number;
}

export interface SequenceState {
  /** In the life of the engine's process. */
  readonly id: number;
  readonly numPromptTokens: number;
  /** Prompt tokens that were found in the cache. */
  readonly numCachedTokens: number;
  readonly numOutputTokens: number;
  /** Tokens whose keys and values are there. */
  readonly numComputedTokens: number;
  readonly maxTokens: number;
  readonly priority: number;
}

export function slotStates(kvCache: KvCache, running: readonly Sequence[]): SlotState[] {
  const bySlot = new Map(running.map((sequence) => [sequence.slot, sequence]));
  return Array.from({ length: kvCache.numSlots }, (_, slot) => {
    const sequence = bySlot.get(slot);
    return {
      slot,
      sequence: sequence === undefined ? null : stateOf(sequence),
      numKeptTokens: sequence === undefined ? kvCache.keptLength(slot) : 0,
    };
  });
}

function stateOf(sequence: Sequence): SequenceState {
  const { id, numPromptTokens, numCachedTokens, numOutputTokens, numComputedTokens, request } =
    sequence;
  const { maxTokens, priority } = request;
  return {
    id,
    numPromptTokens,
    numCachedTokens: Math.max(0, numCachedTokens),
    numOutputTokens,
    numComputedTokens,
    maxTokens,
    priority,
  };
}
