import type { DecoderConfig } from '../huggingface/config.ts';
import type { Architecture } from './architectures.ts';
import type { TensorPlace } from './tensor-place.ts';

/** Order of a tensor's parts, which are rows, or equal pieces of rows. */
export interface StoredOrder {
  /** Parts of a row. */
  readonly perRow: number;
  /** By a part's place in safetensors, that in the file. */
  readonly placeOf: (part: number) => number;
}

/** Null where a file has a tensor's parts in the order of safetensors. */
export function storedOrder(
  { kind, values }: TensorPlace,
  { family, headDim, numHeads, numKvHeads, recurrence }: DecoderConfig,
  { pairsRows, tilesValueHeads }: Architecture,
): StoredOrder | null {
  if (kind === 'heads' && pairsRows === true) {
    return { perRow: 1, placeOf: (row) => pairedRow(row, headDim) };
  }
  if (kind === 'fused heads' && family.fusedOrder === 'by group') {
    return { perRow: 1, placeOf: (row) => rowByKind(row, headDim, numHeads, numKvHeads) };
  }
  if (values === undefined || tilesValueHeads !== true || recurrence?.kind !== 'gated delta') {
    return null;
  }
  const isByColumn = values === 'columns';
  const { first, size } = isByColumn ? { first: 0, size: 1 } : values;
  const { numHeads: heads, keyHeads } = recurrence;
  return {
    perRow: isByColumn ? heads : 1,
    placeOf: (part) =>
      part < first ? part : first + tiledPart(part - first, size, heads, keyHeads),
  };
}

/** By its place in a head's halves, the row in pairs. */
export function pairedRow(row: number, headDim: number): number {
  const within = row % headDim;
  const half = headDim / 2;
  return row - within + (within % half) * 2 + (within < half ? 0 : 1);
}

/** By its place among rows of a key's queries, the key and its value, then the next key's: all queries first. */
function rowByKind(row: number, headDim: number, numHeads: number, numKvHeads: number): number {
  const within = row % headDim;
  const perKey = numHeads / numKvHeads;
  const place = Math.floor(row / headDim) % (perKey + 2);
  const key = Math.floor(row / ((perKey + 2) * headDim));
  const ofKind = numHeads + (place - perKey) * numKvHeads + key;
  return (place < perKey ? key * perKey + place : ofKind) * headDim + within;
}

/** By its place among all heads of the first key, then the next key's: the first heads of all keys first. */
function tiledPart(part: number, size: number, numHeads: number, keyHeads: number): number {
  const perKey = numHeads / keyHeads;
  const head = Math.floor(part / size) % numHeads;
  const tiled = (head % perKey) * keyHeads + Math.floor(head / perKey);
  return part + (tiled - head) * size;
}
