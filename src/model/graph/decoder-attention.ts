/** What stands between a layer's query, key and value and its attention's output, KV cache included. */
export interface DecoderAttention {
  /** int32 or int64 [tokens], padding included. */
  readonly tokenIds: string;
  /** Takes [tokens, (heads + 2 kv_heads) * head_dim]; returns the name of [tokens, heads * head_dim]. */
  attend(layer: number, qkv: string): string;
  /** Adds the cache's outputs, which come behind the logits. */
  declareOutputs(): void;
}
