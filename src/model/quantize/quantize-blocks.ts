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
  const rows = values.length / columns;
  const chooseScale = bits === 8 ? scaleOfLargest : scaleOfLeastError;
  const stored = new Uint8Array(BLOCK_SIZE);
  let block = firstRow * blocksPerRow(columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column += BLOCK_SIZE, block++) {
      const end = Math.min(column + BLOCK_SIZE, columns);
      const group = values.subarray(row * columns + column, row * columns + end);
      const scale = chooseScale(group, bits);
      target.scales[block] = scale;
      store(group, scale, bits, stored);
      pack(stored, bits, target.packed, block * blockBytes(bits));
    }
  }
}

/** The scale at which the value furthest from zero is stored as the furthest integer. */
function scaleOfLargest(group: Float32Array, bits: 4 | 8): number {
  return Math.abs(furthest(group)) / (2 ** (bits - 1) - 1);
}

/** Scales that are tried around the one that just reaches the furthest value. */
const SCALE_STEPS = [-0.12, -0.09, -0.06, -0.03, 0, 0.03, 0.06, 0.09, 0.12];

/**
 * The scale with the least squared error. With few integers to choose from it pays to search: the
 * furthest value goes to the lowest integer, which reaches one further than the highest, or near.
 */
function scaleOfLeastError(group: Float32Array, bits: 4 | 8): number {
  const reach = 2 ** (bits - 1);
  const first = furthest(group) / -reach;
  if (first === 0) {
    return 0;
  }
  let best = first;
  let bestGain = -Infinity;
  for (const step of SCALE_STEPS) {
    const inverse = (1 + step) / first;
    let valueTimesStored = 0;
    let storedSquared = 0;
    for (let i = 0; i < group.length; i++) {
      const value = group[i] ?? 0;
      // Rounded by cutting off, which is faster than Math.round and right above zero.
      const stored = clamp((value * inverse + reach + 0.5) | 0, 0, 2 * reach - 1);
      const integer = stored - reach;
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
function furthest(group: Float32Array): number {
  let found = 0;
  for (let i = 0; i < group.length; i++) {
    const value = group[i] ?? 0;
    if (Math.abs(value) > Math.abs(found)) {
      found = value;
    }
  }
  return found;
}

/** The nearest integers, moved up so that they have no sign, one to a byte. */
function store(group: Float32Array, scale: number, bits: 4 | 8, target: Uint8Array): void {
  const zeroPoint = 2 ** (bits - 1);
  const inverse = scale === 0 ? 0 : 1 / scale;
  target.fill(zeroPoint);
  for (let i = 0; i < group.length; i++) {
    const integer = Math.round((group[i] ?? 0) * inverse) + zeroPoint;
    target[i] = clamp(integer, 0, 2 * zeroPoint - 1);
  }
}

function pack(stored: Uint8Array, bits: 4 | 8, target: Uint8Array, offset: number): void {
  if (bits === 8) {
    target.set(stored, offset);
    return;
  }
  for (let i = 0; i < stored.length; i += 2) {
    target[offset + i / 2] = (stored[i] ?? 0) | ((stored[i + 1] ?? 0) << 4);
  }
}

function clamp(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}
