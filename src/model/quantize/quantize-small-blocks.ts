import type { QuantizedBlocks } from './quantize-blocks.ts';
import { roundHalfUp } from './round.ts';

/** Blocks of 32, as GGUF's have: 8 bits around 0 (Q8_0), or 4 bits with an offset (Q4_1). */
export const SMALL_BLOCK = 32;

/** A matrix [rows, columns] in blocks of `SMALL_BLOCK` columns; integers lie as in QuantizedBlocks. */
export interface SmallBlocks extends QuantizedBlocks {
  /** [rows, blocks] with 4 bits: a value is (stored - 8) * scale + offset. */
  readonly offsets?: Float32Array;
}

/** Quantizes whole rows of `columns`. Padding is stored as what is nearest to zero. */
export function quantizeSmallBlocks(
  values: Float32Array,
  columns: number,
  bits: 4 | 8,
): SmallBlocks {
  const perRow = Math.ceil(columns / SMALL_BLOCK);
  const count = (values.length / columns) * perRow;
  const packed = new Uint8Array((count * SMALL_BLOCK * bits) / 8);
  const scales = new Float32Array(count);
  const offsets = bits === 4 ? new Float32Array(count) : undefined;
  for (let block = 0; block < count; block++) {
    const row = Math.floor(block / perRow);
    const first = row * columns + (block % perRow) * SMALL_BLOCK;
    const length = Math.min(SMALL_BLOCK, (row + 1) * columns - first);
    for (let i = 0; i < length; i++) group[i] = values[first + i] ?? 0;
    if (length < SMALL_BLOCK) group.fill(0, length);
    const { scale, offset } = bits === 8 ? gridOfLargest() : gridOfLeastError(length);
    scales[block] = scale;
    if (offsets) offsets[block] = offset;
    store(scale, offset, bits, packed, (block * SMALL_BLOCK * bits) / 8);
  }
  return { packed, scales, ...(offsets && { offsets }) };
}

/** The values of a block, zeros after them. */
const group = new Float64Array(SMALL_BLOCK);
/** Their integers. */
const stored = new Uint8Array(SMALL_BLOCK);

interface Grid {
  readonly scale: number;
  /** Value of the integer in the middle. */
  readonly offset: number;
}

/** The scale at which the value furthest from zero is stored as the furthest integer. */
function gridOfLargest(): Grid {
  let largest = 0;
  for (let i = 0; i < SMALL_BLOCK; i++) {
    const magnitude = Math.abs(group[i] ?? 0);
    if (magnitude > largest) largest = magnitude;
  }
  return { scale: largest / 127, offset: 0 };
}

/** Highest integer of 4 bits, and the one in the middle. */
const HIGHEST = 15;
const MIDDLE = 8;
/** Steps that a block's values are spread over, to begin with, from fewest to most. */
const SPREADS = Float64Array.from({ length: 21 }, (_, step) => HIGHEST - 1 + step / 10);

/**
 * The scale and offset of 4 bits with the least squared error, as ggml searches them for its K-quants:
 * values are rounded over a range that is a little wider or narrower than they are, and a line is fitted
 * to what they become. All values count alike: to weigh large ones more, as ggml does, loses here.
 */
function gridOfLeastError(length: number): Grid {
  const least = extreme(length, Math.min);
  const range = extreme(length, Math.max) - least;
  if (range === 0) return { scale: 0, offset: least };
  let [ofValues, ofSquares] = [0, 0];
  for (let i = 0; i < length; i++) {
    const value = group[i] ?? 0;
    ofValues += value;
    ofSquares += value * value;
  }
  let best: Grid = { scale: range / HIGHEST, offset: least + (MIDDLE * range) / HIGHEST };
  let leastError = Infinity;
  for (const spread of SPREADS) {
    const inverse = spread / range;
    let [ofIntegers, ofSquaredIntegers, ofProducts] = [0, 0, 0];
    for (let i = 0; i < length; i++) {
      const value = group[i] ?? 0;
      // Cut off, which rounds what is above zero.
      const rounded = ((value - least) * inverse + 0.5) | 0;
      const integer = rounded > HIGHEST ? HIGHEST : rounded;
      ofIntegers += integer;
      ofSquaredIntegers += integer * integer;
      ofProducts += integer * value;
    }
    const determinant = length * ofSquaredIntegers - ofIntegers * ofIntegers;
    if (determinant <= 0) continue;
    const scale = (length * ofProducts - ofValues * ofIntegers) / determinant;
    const lowest = (ofSquaredIntegers * ofValues - ofIntegers * ofProducts) / determinant;
    // The least squares' error, from the sums that it consists of.
    const error = ofSquares - scale * ofProducts - lowest * ofValues;
    if (error < leastError) {
      leastError = error;
      best = { scale, offset: lowest + MIDDLE * scale };
    }
  }
  return best;
}

function extreme(length: number, pick: (a: number, b: number) => number): number {
  let found = group[0] ?? 0;
  for (let i = 1; i < length; i++) found = pick(found, group[i] ?? 0);
  return found;
}

/** The nearest integers, from 0 on, packed from `start` on. */
function store(
  scale: number,
  offset: number,
  bits: 4 | 8,
  target: Uint8Array,
  start: number,
): void {
  const inverse = scale === 0 ? 0 : 1 / scale;
  const middle = 2 ** (bits - 1);
  const highest = 2 * middle - 1;
  for (let i = 0; i < SMALL_BLOCK; i++) {
    const integer = roundHalfUp(((group[i] ?? 0) - offset) * inverse) + middle;
    stored[i] = integer < 0 ? 0 : integer > highest ? highest : integer;
  }
  if (bits === 8) {
    target.set(stored, start);
    return;
  }
  for (let i = 0; i < SMALL_BLOCK; i += 2) {
    target[start + i / 2] = (stored[i] ?? 0) | ((stored[i + 1] ?? 0) << 4);
  }
}
