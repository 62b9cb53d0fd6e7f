import { roundHalfUp } from './round.ts';

/**
 * Values that share a scale. Matmuls with blocks of 32 are a fifth slower; blocks of 128 lose more
 * accuracy with 4 bits, and pad rows that 64 divides.
 */
export const BLOCK_SIZE = 64;

/** A matrix [rows, columns] in blocks of `BLOCK_SIZE` columns, as MatMulNBits reads it. */
export interface QuantizedBlocks {
  /** [rows, blocks, BLOCK_SIZE * bits / 8]; 4-bit values two to a byte, the earlier one low. */
  readonly packed: Uint8Array;
  /** [rows, blocks]. A value is (stored - 2^(bits - 1)) * scale. */
  readonly scales: Float32Array;
}

/** Number of blocks in a row; the last one is padded. */
export function blocksPerRow(columns: number): number {
  return Math.ceil(columns / BLOCK_SIZE);
}

/** Bytes of one block's values. */
export function blockBytes(bits: 4 | 8): number {
  return (BLOCK_SIZE * bits) / 8;
}

/** A matrix of zeros, to be filled by `quantizeRows`. */
export function emptyBlocks(rows: number, columns: number, bits: 4 | 8): QuantizedBlocks {
  const blocks = rows * blocksPerRow(columns);
  return {
    packed: new Uint8Array(blocks * blockBytes(bits)),
    scales: new Float32Array(blocks),
  };
}

/** The values of a block, zeros after them. */
const group = new Float64Array(BLOCK_SIZE);

/**
 * Quantizes `values`, whole rows of `columns`, into the rows of `target` from `firstRow` on.
 * A block's padding is stored as zeros.
 */
export function quantizeRows(
  values: Float32Array,
  columns: number,
  bits: 4 | 8,
  target: QuantizedBlocks,
  firstRow: number,
): void {
  let block = firstRow * blocksPerRow(columns);
  for (let row = 0; row < values.length; row += columns) {
    for (let column = 0; column < columns; column += BLOCK_SIZE, block++) {
      const length = Math.min(BLOCK_SIZE, columns - column);
      for (let i = 0; i < length; i++) group[i] = values[row + column + i] ?? 0;
      if (length < BLOCK_SIZE) group.fill(0, length);
      const scale = bits === 8 ? scaleOfLargest() : scaleOfLeastError();
      target.scales[block] = scale;
      store(scale, bits, target.packed, block * blockBytes(bits));
    }
  }
}

/** The scale at which the value furthest from zero is stored as the furthest integer. */
function scaleOfLargest(): number {
  return Math.abs(furthest()) / 127;
}

/** Divisors of the scales that are tried, around the one that just reaches the furthest value. */
const SCALE_FACTORS = Float64Array.of(0.88, 0.91, 0.94, 0.97, 1, 1.03, 1.06, 1.09, 1.12);
/** Half of the range of 4 bits. */
const REACH = 8;

/** By what a value was rounded to, which scales that are too small take beyond 15: the integer that is stored. */
const INTEGERS = Float64Array.from({ length: 18 }, (_, rounded) => Math.min(rounded, 15) - REACH);

/**
 * The scale for 4 bits with the least squared error. With few integers to choose from it pays to search: the
 * furthest value goes to the lowest integer, which reaches one further than the highest, or near.
 */
function scaleOfLeastError(): number {
  const first = furthest() / -REACH;
  if (first === 0) return 0;
  let best = first;
  let bestGain = -Infinity;
  for (let step = 0; step < SCALE_FACTORS.length; step++) {
    const inverse = (SCALE_FACTORS[step] ?? 0) / first;
    let valueTimesStored = 0;
    let storedSquared = 0;
    for (let i = 0; i < BLOCK_SIZE; i++) {
      const value = group[i] ?? 0;
      // Rounded by cutting off, which is right above zero. A table is faster than to clamp.
      const integer = INTEGERS[(value * inverse + REACH + 0.5) | 0] ?? 0;
      valueTimesStored += value * integer;
      storedSquared += integer * integer;
    }
    // For these integers, the scale of least squared error; the error is a constant minus the gain.
    const gain = (valueTimesStored * valueTimesStored) / storedSquared;
    if (gain > bestGain) {
      bestGain = gain;
      best = valueTimesStored / storedSquared;
    }
  }
  return best;
}

/** The value of largest magnitude, with its sign. */
function furthest(): number {
  let found = 0;
  for (let i = 0; i < BLOCK_SIZE; i++) {
    const value = group[i] ?? 0;
    if (Math.abs(value) > Math.abs(found)) found = value;
  }
  return found;
}

/** The nearest integers, moved up so that they have no sign, packed from `offset` on. */
function store(scale: number, bits: 4 | 8, target: Uint8Array, offset: number): void {
  const inverse = scale === 0 ? 0 : 1 / scale;
  if (bits === 8) {
    for (let i = 0; i < BLOCK_SIZE; i++) {
      target[offset + i] = roundHalfUp((group[i] ?? 0) * inverse) + 128;
    }
    return;
  }
  for (let i = 0; i < BLOCK_SIZE; i += 2) {
    const low = clamp(roundHalfUp((group[i] ?? 0) * inverse) + REACH, 0, 2 * REACH - 1);
    const high = clamp(roundHalfUp((group[i + 1] ?? 0) * inverse) + REACH, 0, 2 * REACH - 1);
    target[offset + i / 2] = low | (high << 4);
  }
}

function clamp(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}
