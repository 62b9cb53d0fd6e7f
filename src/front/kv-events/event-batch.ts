import { encode } from '@msgpack/msgpack';
import type { BlockEvent } from '../../engine/kv-cache/block-log.ts';
import { isEmbedding } from '../../engine/prompt-embeddings.ts';

/** Where the blocks are, in vLLM's word. */
const MEDIUM = 'gpu';

type WireEvent = readonly [tag: string, ...fields: readonly unknown[]];

/** All that an engine knew is gone. */
export const ALL_CLEARED: WireEvent[] = [['AllBlocksCleared']];

/** Events as vLLM writes them: each an array of its tag and its fields, in order. */
export function wireEvents(events: readonly BlockEvent[], blockTokens: number): WireEvent[] {
  return events.map((event): WireEvent => {
    if (event.type === 'removed') return ['BlockRemoved', event.names, MEDIUM];
    const { names, parent, salt } = event;
    // Readers expect numbers from 0 on: an embedding's is above any token's.
    const tokenIds = event.tokenIds.map((id) => (isEmbedding(id) ? id >>> 0 : id));
    // Only for a text's first block, as in vLLM; null if no block has any.
    const isSalted = parent === null && salt !== '';
    const extraKeys = isSalted ? names.map((_, index) => (index === 0 ? [salt] : null)) : null;
    return ['BlockStored', names, parent, tokenIds, blockTokens, null, MEDIUM, null, extraKeys];
  });
}

/**
 * A message of msgpack: when, what, and which of the model's engines.
 * @param seconds since 1970
 */
export function encodeBatch(
  events: readonly WireEvent[],
  seconds: number,
  instance: number,
): Uint8Array {
  // Readers expect a float, and a number without a fraction would be written as an integer.
  const time = Number.isInteger(seconds) ? seconds + 1e-6 : seconds;
  return encode([time, events, instance]);
}
