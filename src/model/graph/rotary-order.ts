import type { DecoderConfig } from '../huggingface/config.ts';
import { layerTensorNames } from '../huggingface/families.ts';
import { inOnePiece, piecesOf, type WeightSource } from '../huggingface/weights.ts';
import { readIntegers, withRows } from '../quantize/stored-blocks.ts';

/**
 * Weights for attention that rotates dimension i of a head with dimension i + headDim / 2. If only
 * the first `rotaryDim` are rotated, checkpoints pair them among themselves: the dimensions of
 * query and key heads are reordered, which does not change their dot products.
 */
export function inRotaryOrder(config: DecoderConfig, weights: WeightSource): WeightSource {
  const { headDim, rotaryDim } = config;
  if (rotaryDim === headDim) return weights;
  const order = headOrder(headDim, rotaryDim);
  const counts = reorderedHeads(config);
  const numHeadsOf = (name: string) => counts.get(name.replace(/\.(weight|bias)$/, ''));
  const get: WeightSource['get'] = async (name, shape) => {
    const values = await weights.get(name, shape);
    const numHeads = numHeadsOf(name);
    return numHeads === undefined ? values : reorder(values, shape, numHeads, order);
  };
  return {
    get,
    pieces: (name, shape) =>
      numHeadsOf(name) === undefined
        ? piecesOf(weights, name, shape)
        : inOnePiece({ get }, name, shape),
    // There they are in this order, too.
    made: (task) => weights.made?.(task) ?? null,
    typeOf: (name) => weights.typeOf?.(name) ?? null,
    layout: (name, shape) => weights.layout?.(name, shape) ?? null,
    async integers(name, [rows = 0, columns = 0]) {
      const stored = await readIntegers(weights, name, [rows, columns]);
      const numReordered = (numHeadsOf(name) ?? 0) * headDim;
      return withRows(stored, rows, (place) =>
        place < numReordered ? place - (place % headDim) + (order[place % headDim] ?? 0) : place,
      );
    },
    close: () => weights.close(),
  };
}

/** By new place in a head, the dimension that comes there. */
function headOrder(headDim: number, rotaryDim: number): readonly number[] {
  const range = (start: number, end: number): number[] =>
    Array.from({ length: end - start }, (_, index) => start + index);
  const middle = (rotaryDim + headDim) / 2;
  return [
    ...range(0, rotaryDim / 2),
    ...range(rotaryDim, middle),
    ...range(rotaryDim / 2, rotaryDim),
    ...range(middle, headDim),
  ];
}

/** By tensor name without `.weight` and `.bias`, how many heads at its beginning are put in order. */
function reorderedHeads({ family, numLayers, numHeads, numKvHeads }: DecoderConfig) {
  const counts = new Map<string, number>();
  for (let layer = 0; layer < numLayers; layer++) {
    const { queryKeyValue, headNorms } = layerTensorNames(family, layer);
    const [query = '', key] = queryKeyValue;
    counts.set(query, key === undefined ? numHeads + numKvHeads : numHeads);
    if (key !== undefined) counts.set(key, numKvHeads);
    if (headNorms === null) continue;
    const isShared = headNorms.over === 'head';
    counts.set(headNorms.query, isShared ? 1 : numHeads);
    counts.set(headNorms.key, isShared ? 1 : numKvHeads);
  }
  return counts;
}

function reorder(
  values: Float32Array,
  shape: readonly number[],
  numHeads: number,
  order: readonly number[],
): Float32Array {
  const width = values.length / (shape[0] ?? 1);
  const ordered = values.slice();
  for (let head = 0; head < numHeads; head++) {
    const first = head * order.length;
    for (const [place, dimension] of order.entries()) {
      const start = (first + dimension) * width;
      ordered.set(values.subarray(start, start + width), (first + place) * width);
    }
  }
  return ordered;
}
