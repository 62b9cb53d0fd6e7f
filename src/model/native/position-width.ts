import type { KvCacheDtype } from '../build/manifest.ts';

/** Bytes beside an int8 position of a head: its scale, in float32, and padding. */
const SCALE_BYTES = 16;

/** Elements that a position of a head takes in a KV cache of native/. */
export function nativePositionWidth(headDim: number, kvCacheDtype: KvCacheDtype): number {
  return kvCacheDtype === 'int8' ? headDim + SCALE_BYTES : headDim;
}
