/** What the operators of native/ compute, in plain loops. */

const { fround } = Math;

export interface QuantizedRow {
  readonly values: Int32Array;
  /** By block. */
  readonly scales: Float64Array;
}

/** To 8 bits, in blocks of `block`; as float32 arithmetic rounds, so that integers are the same. */
export function quantizeActivations(
  row: Float32Array,
  block: number,
  norm: Float32Array | null,
  epsilon: number,
): QuantizedRow {
  const weighted = norm ? row.map((x, i) => fround(x * (norm[i] ?? 0))) : row;
  const meanSquare = row.reduce((sum, x) => sum + x * x, 0) / row.length;
  const factor = norm ? 1 / Math.sqrt(meanSquare + epsilon) : 1;
  const values = new Int32Array(row.length);
  const scales = new Float64Array(Math.ceil(row.length / block));
  for (const index of scales.keys()) {
    const part = weighted.subarray(index * block, (index + 1) * block);
    const most = part.reduce((max, x) => Math.max(max, Math.abs(x)), 0);
    if (most < 1e-30) continue;
    scales[index] = (most * factor) / 127;
    const inverse = fround(127 / most);
    for (const [i, x] of part.entries())
      values[index * block + i] = roundHalfEven(fround(x * inverse));
  }
  return { values, scales };
}

function roundHalfEven(x: number): number {
  const rounded = Math.round(x);
  return Math.abs(x % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

/** Unpacked weights: integers [rows][columns] and their scales by row and block. */
export interface ReferenceWeights {
  readonly integers: readonly Int32Array[];
  readonly scales: readonly Float64Array[];
  readonly block: number;
}

/** A row of activations times all rows of the weights. */
export function product(
  x: QuantizedRow,
  { integers, scales, block }: ReferenceWeights,
): Float64Array {
  return Float64Array.from(integers, (row, n) => {
    let total = 0;
    for (let first = 0, b = 0; first < row.length; first += block, b++) {
      let sum = 0;
      for (let k = first; k < Math.min(first + block, row.length); k++) {
        sum += (row[k] ?? 0) * (x.values[k] ?? 0);
      }
      total += sum * (scales[n]?.[b] ?? 0) * (x.scales[b] ?? 0);
    }
    return total;
  });
}

export function silu(x: number): number {
  return x / (1 + Math.exp(-x));
}

export function geluTanh(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}

/** RMS normalization. */
export function normalize(
  x: readonly number[],
  weights: readonly number[],
  epsilon: number,
): number[] {
  const meanSquare = x.reduce((sum, value) => sum + value * value, 0) / x.length;
  return x.map((value, i) => (value / Math.sqrt(meanSquare + epsilon)) * (weights[i] ?? 0));
}
