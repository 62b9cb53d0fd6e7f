import type { DecoderConfig } from '../huggingface/config.ts';
import { transposeInto } from '../huggingface/transpose.ts';
import type { GgufFile } from './gguf-file.ts';

/** Names of the two tensors that files have in place of that from latents to keys and values. */
export function latentParts(stored: string): { readonly keys: string; readonly values: string } {
  return {
    keys: stored.replace('attn_kv_b', 'attn_k_b'),
    values: stored.replace('attn_kv_b', 'attn_v_b'),
  };
}

/**
 * The matrix from latents to keys and values, head by head: [heads * (still + value_dim), rank]. A file has
 * keys as [heads, rank, still] and values as [heads, value_dim, rank].
 * @param stored the name that the tensor would have as a whole
 * @throws {ModelError} if a part is missing, or of another shape
 */
export async function expandingMatrix(
  file: GgufFile,
  stored: string,
  { numHeads, latent }: DecoderConfig,
): Promise<Float32Array> {
  const { keyValueRank: rank = 0, stillDim = 0, valueDim = 0 } = latent ?? {};
  const names = latentParts(stored);
  file.requireShape(names.keys, [numHeads, rank, stillDim]);
  file.requireShape(names.values, [numHeads, valueDim, rank]);
  const keys = await file.read(names.keys);
  const values = await file.read(names.values);
  const perHead = (stillDim + valueDim) * rank;
  const matrix = new Float32Array(numHeads * perHead);
  for (let head = 0; head < numHeads; head++) {
    const ofKeys = keys.subarray(head * rank * stillDim, (head + 1) * rank * stillDim);
    transposeInto(ofKeys, rank, stillDim, matrix.subarray(head * perHead), rank, 0);
    const first = head * valueDim * rank;
    matrix.set(values.subarray(first, first + valueDim * rank), head * perHead + stillDim * rank);
  }
  return matrix;
}
