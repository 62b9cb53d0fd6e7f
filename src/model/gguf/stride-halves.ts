import { float16ToFloat32 } from '../huggingface/float-conversion.ts';

/**
 * The float16 that each block has at the same place, as float32.
 * @param arrayOf makes an array for them
 */
export function strideHalves(
  bytes: Uint8Array,
  blockBytes: number,
  offset: number,
  arrayOf = (length: number) => new Float32Array(length),
): Float32Array {
  const numBlocks = bytes.length / blockBytes;
  const halves = new Uint16Array(numBlocks);
  for (let block = 0; block < numBlocks; block++) {
    const at = block * blockBytes + offset;
    halves[block] = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
  }
  const values = arrayOf(numBlocks);
  float16ToFloat32(halves, values);
  return values;
}
