import { float16ToFloat32 } from '../huggingface/float-conversion.ts';

/** The float16 that each block has at the same place, as float32. */
export function strideHalves(bytes: Uint8Array, blockBytes: number, offset: number): Float32Array {
  const numBlocks = bytes.length / blockBytes;
  const halves = new Uint16Array(numBlocks);
  for (let block = 0; block < numBlocks; block++) {
    const at = block * blockBytes + offset;
    halves[block] = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
  }
  const values = new Float32Array(numBlocks);
  float16ToFloat32(halves, values);
  return values;
}
