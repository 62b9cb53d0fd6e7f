import type { HeadNormWeights } from './head-norms.ts';
import type { GroupPrefix } from './token-packing.ts';

/** Turns a layer's query, key and value into its attention's output, with the KV cache. */
export interface DecoderAttention {
  /** Groups of sequences whose tokens come one after the other; none where the cache has pages. */
  readonly groups: readonly GroupPrefix[];
  /** int32 or int64 [tokens], padding included. */
  readonly tokenIds: string;
  /** Adds every token's position; returns the name of int64 [tokens]. */
  positions(): string;
  /**
   * Takes [tokens, (heads + 2 kv_heads) * head_dim]; returns the name of [tokens, heads * head_dim].
   * @param norms null if heads have none
   */
  attend(layer: number, qkv: string, norms: HeadNormWeights | null): string;
  /**
   * Attends to an encoder's output, which the cache's first positions hold; left out where there is none. After
   * `attend` of the same layer: [tokens, heads * head_dim] to the name of the same.
   */
  readonly attendHeard?: (layer: number, queries: string) => string;
  /** Adds the cache's outputs, which come after the logits. */
  declareOutputs(): void;
}
