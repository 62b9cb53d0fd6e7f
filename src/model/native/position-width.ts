import type { KvCacheDtype } from '../manifest.ts';

/** Positions are a multiple of this: the numbers in a vector of native/. */
const LANES = 16;
/** Bytes next to an int8 position of a head: its scale, in float32, and padding. */
const SCALE_BYTES = 16;

/** Elements that a position of a head takes in a KV cache of native/. */
export function nativePositionWidth(headDim: number, kvCacheDtype: KvCacheDtype): number {
  const width = Math.ceil(headDim / LANES) * LANES;
  return kvCacheDtype === 'int8' ? width + SCALE_BYTES : width;
}
