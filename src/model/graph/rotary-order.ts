import type { DecoderConfig } from '../huggingface/config.ts';
import { type Family, layerTensorNames } from '../families/family.ts';
import { addLatentOrders } from './latent-order.ts';
import { addRecurrentOrders } from './recurrent-order.ts';
import { inOnePiece, piecesOf, type WeightSource } from '../huggingface/weights.ts';
import { readIntegers, withRows } from '../quantize/stored-blocks.ts';

/** By new place of a row, the row of a checkpoint that comes there. */
type RowOrder = (place: number) => number;

/**
 * Weights with the rows of queries, keys and values where attention reads them: all queries, then all
 * keys, then all values, head by head. Attention rotates dimension i of a head with dimension
 * i + headDim / 2. If only the first `rotaryDim` are rotated, checkpoints pair them among themselves, and
 * some families pair neighbours: the dimensions of query and key heads are reordered, which does not change
 * their dot products.
 */
export function inRotaryOrder(config: DecoderConfig, weights: WeightSource): WeightSource {
  const orders = rowOrders(config);
  if (orders.size === 0) return weights;
  const orderOf = (name: string) => orders.get(name.replace(/\.(weight|bias)$/, ''));
  const get: WeightSource['get'] = async (name, shape) => {
    const values = await weights.get(name, shape);
    const order = orderOf(name);
    return order === undefined ? values : reorder(values, shape, order);
  };
  return {
    get,
    pieces: (name, shape) =>
      orderOf(name) === undefined
        ? piecesOf(weights, name, shape)
        : inOnePiece({ get }, name, shape),
    // There they are in this order, too.
    made: (task) => weights.made?.(task) ?? null,
    typeOf: (name) => weights.typeOf?.(name) ?? null,
    layout: (name, shape) => weights.layout?.(name, shape) ?? null,
    async integers(name, [rows = 0, columns = 0]) {
      const stored = await readIntegers(weights, name, [rows, columns]);
      const order = orderOf(name);
      return order === undefined ? stored : withRows(stored, rows, order);
    },
    close: () => weights.close(),
  };
}

/** By new place in a head, the dimension that comes there. */
function headOrder(
  headDim: number,
  rotaryDim: number,
  pairs: Family['rotaryPairs'],
): readonly number[] {
  const range = (start: number, end: number): number[] =>
    Array.from({ length: end - start }, (_, index) => start + index);
  const middle = (rotaryDim + headDim) / 2;
  const half = rotaryDim / 2;
  const [firsts, seconds] =
    pairs === 'halves'
      ? [range(0, half), range(half, rotaryDim)]
      : [0, 1].map((of) => range(0, half).map((pair) => 2 * pair + of));
  return [
    ...(firsts ?? []),
    ...range(rotaryDim, middle),
    ...(seconds ?? []),
    ...range(middle, headDim),
  ];
}

/** By tensor name without `.weight` and `.bias`, of tensors whose rows are put in order. */
function rowOrders(config: DecoderConfig): Map<string, RowOrder> {
  const { family, numLayers, numHeads, numKvHeads, headDim, rotaryDim } = config;
  const orders = new Map<string, RowOrder>();
  const isByGroup = family.fusedOrder === 'by group';
  const { rotaryPairs, gatesAttention: isGated = false } = family;
  const isPlain = rotaryPairs === 'halves' && !isByGroup && !isGated;
  addRecurrentOrders(config, orders);
  if (config.latent !== undefined) {
    addLatentOrders(config, orders);
    return orders;
  }
  if (rotaryDim === headDim && isPlain) return orders;
  const dimensions = headOrder(headDim, rotaryDim, rotaryPairs);
  const inHeads =
    (count: number): RowOrder =>
    (place) => {
      const within = place % headDim;
      return place < count * headDim ? place - within + (dimensions[within] ?? 0) : place;
    };
  /** From each head's query and gate: all gates, then all queries. */
  const gatesFirst: RowOrder = (place) => {
    const [within, head] = [place % headDim, Math.floor(place / headDim)];
    return head < numHeads
      ? (2 * head + 1) * headDim + within
      : 2 * (head - numHeads) * headDim + (dimensions[within] ?? 0);
  };
  const perKey = numHeads / numKvHeads;
  /** From a key's queries, the key and its value, then the next key's. */
  const byKind: RowOrder = (place) => {
    const within = place % headDim;
    const head = Math.floor(place / headDim);
    if (head < numHeads) {
      const before = Math.floor(head / perKey) * 2;
      return (before + head) * headDim + (dimensions[within] ?? 0);
    }
    const key = (head - numHeads) % numKvHeads;
    const isKey = head < numHeads + numKvHeads;
    const start = (key * (perKey + 2) + perKey + (isKey ? 0 : 1)) * headDim;
    return start + (isKey ? (dimensions[within] ?? 0) : within);
  };
  for (let layer = 0; layer < numLayers; layer++) {
    const { queryKeyValue, headNorms } = layerTensorNames(family, layer);
    const [query = '', key] = queryKeyValue;
    if (key === undefined) {
      orders.set(query, isByGroup ? byKind : inHeads(numHeads + numKvHeads));
    } else {
      orders.set(query, isGated ? gatesFirst : inHeads(numHeads));
      orders.set(key, inHeads(numKvHeads));
    }
    if (headNorms === null) continue;
    const isShared = headNorms.over === 'head';
    orders.set(headNorms.query, inHeads(isShared ? 1 : numHeads));
    orders.set(headNorms.key, inHeads(isShared ? 1 : numKvHeads));
  }
  return orders;
}

function reorder(
  values: Float32Array,
  [rows = 1]: readonly number[],
  rowOf: RowOrder,
): Float32Array {
  const width = values.length / rows;
  const ordered = new Float32Array(values.length);
  for (let place = 0; place < rows; place++) {
    const start = rowOf(place) * width;
    ordered.set(values.subarray(start, start + width), place * width);
  }
  return ordered;
}
