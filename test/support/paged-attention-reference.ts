import type { PagedBatch } from '../../src/engine/gpu/paged/paged-batch.ts';
import { SCORE_SCALE } from '../../src/model/graph/rope.ts';

export interface AttentionShape {
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
}

export interface PageCache {
  readonly pageLength: number;
  /** [pages, pageLength, numKvHeads, headDim] */
  readonly keys: Float32Array;
  readonly values: Float32Array;
}

/** Each [positions, headDim / 2]. */
export interface Rotary {
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

/**
 * Computes com.microsoft.PagedAttention in plain loops, with SCORE_SCALE: rotates queries and keys by their
 * positions, writes keys and values to where the page table says, and attends causally to all that
 * the table leads to.
 * @param qkv [tokens, (numHeads + 2 numKvHeads) * headDim]
 * @returns [tokens, numHeads * headDim]
 */
export function pagedAttention(
  shape: AttentionShape,
  qkv: Float32Array,
  batch: PagedBatch,
  cache: PageCache,
  rotary: Rotary,
): Float32Array {
  const { numHeads, numKvHeads, headDim } = shape;
  const { cumulativeLengths, pastLengths, pageTable, tableWidth } = batch;
  const width = (numHeads + 2 * numKvHeads) * headDim;
  const output = new Float32Array(batch.tokenIds.length * numHeads * headDim);
  for (const [segment, past] of pastLengths.entries()) {
    const first = at(cumulativeLengths, segment);
    const length = at(cumulativeLengths, segment + 1) - first;
    const place = (position: number, kvHead: number) => {
      const page = at(pageTable, segment * tableWidth + Math.floor(position / cache.pageLength));
      const slot = page * cache.pageLength + (position % cache.pageLength);
      return (slot * numKvHeads + kvHead) * headDim;
    };
    for (let index = 0; index < length; index++) {
      const position = past + index;
      const head = (number: number) => {
        const start = (first + index) * width + number * headDim;
        return qkv.subarray(start, start + headDim);
      };
      for (let kvHead = 0; kvHead < numKvHeads; kvHead++) {
        const key = rotate(head(numHeads + kvHead), position, rotary);
        cache.keys.set(key, place(position, kvHead));
        cache.values.set(head(numHeads + numKvHeads + kvHead), place(position, kvHead));
      }
      for (let number = 0; number < numHeads; number++) {
        const kvHead = Math.floor(number / (numHeads / numKvHeads));
        const query = rotate(head(number), position, rotary);
        const read = (from: Float32Array, other: number) => {
          const start = place(other, kvHead);
          return from.subarray(start, start + headDim);
        };
        const scores = Array.from({ length: position + 1 }, (_, other) =>
          Math.exp(dot(query, read(cache.keys, other)) * SCORE_SCALE),
        );
        const total = scores.reduce((sum, score) => sum + score, 0);
        for (const [other, score] of scores.entries()) {
          for (const [i, value] of read(cache.values, other).entries()) {
            const to = ((first + index) * numHeads + number) * headDim + i;
            output[to] = at(output, to) + (score / total) * value;
          }
        }
      }
    }
  }
  return output;
}

function rotate(vector: Float32Array, position: number, { cos, sin }: Rotary): Float32Array {
  const half = vector.length / 2;
  return vector.map((value, i) => {
    const angle = position * half + (i % half);
    const partner = i < half ? -at(vector, i + half) : at(vector, i - half);
    return value * at(cos, angle) + partner * at(sin, angle);
  });
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * at(b, i), 0);
}

function at(values: ArrayLike<number>, index: number): number {
  const value = values[index];
  if (value === undefined) throw new RangeError(`no element ${index} of ${values.length}`);
  return value;
}
