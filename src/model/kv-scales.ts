/**
 * What a step of an int8 KV cache stands for, in one layer, for every channel of every head:
 * [kv_heads, head_dim] each. A cached value is the integer times its channel's scale.
 */
export interface LayerKvScales {
  readonly key: Float32Array;
  readonly value: Float32Array;
}
