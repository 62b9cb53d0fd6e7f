import type { KvCacheDtype } from '../manifest.ts';

/** Positions are a multiple of this: the numbers in a vector of native/. */
const LANES = 16;
/** Bytes next to an int8 position of a head: its scale, in float32, and padding. */
const SCALE_BYTES = 16;
/** Dimensions of an int4 position that share a scale, and their bytes with it, in float16, and their least number. */
const PACKED_BLOCK = 32;
const PACKED_BLOCK_BYTES = 20;

/** Elements that a position of a head takes in a KV cache of native/; bytes of an int4 one. */
export function nativePositionWidth(headDim: number, kvCacheDtype: KvCacheDtype): number {
  if (kvCacheDtype === 'int4') {
    const bytes = Math.ceil(headDim / PACKED_BLOCK) * PACKED_BLOCK_BYTES;
    return Math.ceil(bytes / LANES) * LANES;
  }
  const width = Math.ceil(headDim / LANES) * LANES;
  return kvCacheDtype === 'int8' ? width + SCALE_BYTES : width;
}
