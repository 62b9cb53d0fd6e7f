/** Operators of native/, computed in plain loops. */

const { fround } = Math;

export interface QuantizedRow {
  readonly values: Int32Array;
  /** By block. */
  readonly scales: Float64Array;
  readonly block: number;
}

/**
 * To 8 bits, in blocks; as float32 arithmetic rounds, so that integers are the same.
 * @param block activations that share a scale
 * @param step of all values; each block has its own if left out
 */
export function quantizeActivations(
  row: Float32Array,
  norm: Float32Array | null,
  epsilon: number,
  block: number,
  step?: number,
): QuantizedRow {
  const weighted = norm ? row.map((x, i) => fround(x * (norm[i] ?? 0))) : row;
  const meanSquare = row.reduce((sum, x) => sum + x * x, 0) / row.length;
  const factor = norm ? 1 / Math.sqrt(meanSquare + epsilon) : 1;
  const values = new Int32Array(row.length);
  const scales = new Float64Array(Math.ceil(row.length / block));
  if (step !== undefined) {
    scales.fill(fround(step));
    const inverse = fround(fround(factor) / fround(step));
    for (const [i, x] of weighted.entries()) {
      values[i] = roundHalfEven(Math.min(127, Math.max(-127, fround(x * inverse))));
    }
    return { values, scales, block };
  }
  for (const index of scales.keys()) {
    const part = weighted.subarray(index * block, (index + 1) * block);
    const most = part.reduce((max, x) => Math.max(max, Math.abs(x)), 0);
    if (most < 1e-30) continue;
    scales[index] = (most * factor) / 127;
    const inverse = fround(127 / most);
    for (const [i, x] of part.entries())
      values[index * block + i] = roundHalfEven(fround(x * inverse));
  }
  return { values, scales, block };
}

function roundHalfEven(x: number): number {
  const rounded = Math.round(x);
  return Math.abs(x % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

/** Unpacked weights: integers [rows][columns] and their scales by row and block. */
export interface ReferenceWeights {
  readonly integers: readonly Int32Array[];
  readonly scales: readonly Float64Array[];
  /** Values added to weights, by row and block. */
  readonly offsets?: readonly Float64Array[] | undefined;
  /** Values of a row that share a scale: as many as of activations, or more. */
  readonly block: number;
}

/** A row of activations times all rows of the weights. */
export function product(
  x: QuantizedRow,
  { integers, scales, offsets, block: ofWeights }: ReferenceWeights,
): Float64Array {
  const { block } = x;
  return Float64Array.from(integers, (row, n) => {
    let total = 0;
    for (let first = 0; first < row.length; first += block) {
      const at = Math.floor(first / ofWeights);
      const [scale, offset] = [scales[n]?.[at] ?? 0, offsets?.[n]?.[at] ?? 0];
      for (let k = first; k < Math.min(first + block, row.length); k++) {
        const weight = scale * (row[k] ?? 0) + offset;
        total += weight * (x.values[k] ?? 0) * (x.scales[first / block] ?? 0);
      }
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

/** Inputs of attention in one layer; see native/kernels.h. */
export interface ReferenceAttention {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** 0 for none. */
  readonly window: number;
  readonly softcap: number;
  readonly cos: Float32Array;
  readonly sin: Float32Array;
  readonly norms: 'none' | 'head' | 'all heads';
  readonly queryNorm: readonly number[];
  readonly keyNorm: readonly number[];
  readonly epsilon: number;
  readonly sinks: readonly number[] | null;
}

/**
 * Attention of one sequence from its first token on: by token, [heads * head_dim].
 * @param ends where the positions end that a token sees, if that is after its own
 */
export function attend(
  a: ReferenceAttention,
  qkv: readonly Float32Array[],
  ends: readonly number[] = [],
): number[][] {
  const { heads, kvHeads, headDim } = a;
  const partOf = (token: Float32Array, first: number, count: number) =>
    Array.from(token.subarray(first * headDim, (first + count) * headDim));
  const keys = qkv.map((token, position) =>
    turnHeads(a, partOf(token, heads, kvHeads), a.keyNorm, position),
  );
  const values = qkv.map((token) => partOf(token, heads + kvHeads, kvHeads));
  return qkv.map((token, position) => {
    const queries = turnHeads(a, partOf(token, 0, heads), a.queryNorm, position);
    const end = Math.max(position + 1, ends[position] ?? 0);
    const first = a.window > 0 ? Math.max(0, position + 1 - a.window) : 0;
    return Array.from({ length: heads }, (_, head) => {
      const at = Math.floor((head * kvHeads) / heads) * headDim;
      const query = queries.slice(head * headDim, (head + 1) * headDim);
      const scores: number[] = [];
      for (let p = first; p < end; p++) {
        const score = query.reduce((sum, x, d) => sum + x * (keys[p]?.[at + d] ?? 0), 0);
        scores.push(a.softcap > 0 ? a.softcap * Math.tanh(score / a.softcap) : score);
      }
      const sink = a.sinks?.[head];
      const most = Math.max(...scores, sink ?? -Infinity);
      const weights = scores.map((score) => Math.exp(score - most));
      const total =
        weights.reduce((sum, x) => sum + x, 0) + (sink === undefined ? 0 : Math.exp(sink - most));
      return Array.from({ length: headDim }, (__, d) =>
        weights.reduce((sum, w, p) => sum + (w / total) * (values[first + p]?.[at + d] ?? 0), 0),
      );
    }).flat();
  });
}

function turnHeads(
  { headDim, norms, cos, sin, epsilon }: ReferenceAttention,
  x: readonly number[],
  norm: readonly number[],
  position: number,
): number[] {
  const half = headDim / 2;
  const whole = norms === 'all heads' ? normalize(x, norm, epsilon) : x;
  const turned: number[] = [];
  for (let first = 0; first < x.length; first += headDim) {
    const part = whole.slice(first, first + headDim);
    const head = norms === 'head' ? normalize(part, norm, epsilon) : part;
    for (let i = 0; i < headDim; i++) {
      const pair = i % half;
      const [c, s] = [cos[position * half + pair] ?? 0, sin[position * half + pair] ?? 0];
      const [own, other] = [head[i] ?? 0, head[(i + half) % headDim] ?? 0];
      turned.push(i < half ? own * c - other * s : own * c + other * s);
    }
  }
  return turned;
}
