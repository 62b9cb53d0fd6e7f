import { randomNumbers } from './native-node.ts';

export interface RecurrentShape {
  readonly operator: 'GatedDelta' | 'SelectiveScan';
  readonly heads: number;
  readonly keyHeads: number;
  readonly keyDim: number;
  readonly valueDim: number;
  /** Each dimension of keys decays by itself. */
  readonly decaysByDimension?: true;
  /** Limits of the time that a token takes. */
  readonly limits?: readonly [number, number];
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const softplus = (x: number) => Math.log1p(Math.exp(x));
const sumOf = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0);
const dot = (a: readonly number[], b: readonly number[]) =>
  sumOf(a.map((x, i) => x * (b[i] ?? NaN)));

/** Makes its length 1, as Transformers' l2norm has it. */
function normalized(values: readonly number[]): number[] {
  const length = Math.sqrt(dot(values, values) + 1e-6);
  return values.map((x) => x / length);
}

/**
 * GatedDelta and SelectiveScan in plain loops of doubles: a token is a step of Transformers'
 * `torch_recurrent_gated_delta_rule`, or `recurrent_kimi_delta_attention`, and of Mamba-2's mixer with a cache.
 */
export class Recurrent {
  readonly shape: RecurrentShape;
  readonly packedWidth: number;
  /** Numbers of a token: what is packed, then its gates. */
  readonly width: number;
  /** Decays of a head. */
  readonly rates: number;
  readonly decay: Float32Array;
  readonly bias: Float32Array;
  readonly skip: Float32Array;

  constructor(shape: RecurrentShape) {
    const { operator, heads, keyHeads, keyDim, valueDim } = shape;
    this.shape = shape;
    this.packedWidth = 2 * keyHeads * keyDim + heads * valueDim;
    this.rates = shape.decaysByDimension === true ? keyDim : 1;
    this.width = this.packedWidth + heads * (this.rates + (operator === 'GatedDelta' ? 1 : 0));
    this.decay = randomNumbers(50, heads).map((x) => -Math.exp(x));
    this.bias = randomNumbers(51, heads * this.rates);
    this.skip = randomNumbers(52, heads);
  }

  /** By token: what all heads give, one after the other. */
  outputs(tokens: readonly Float32Array[]): number[][] {
    const { heads, keyDim, valueDim } = this.shape;
    const states = Array.from({ length: heads }, () =>
      Array.from({ length: valueDim }, () => Array.from({ length: keyDim }, () => 0)),
    );
    return tokens.map((token) => states.flatMap((state, head) => this.#step(token, head, state)));
  }

  /** @param state of the head by value, which becomes that after the token */
  #step(token: Float32Array, head: number, state: number[][]): number[] {
    const { operator, heads, keyHeads, keyDim, valueDim, limits = [0, Infinity] } = this.shape;
    const part = (start: number, length: number) =>
      Array.from(token.subarray(start, start + length));
    const [keys, values] = [keyHeads * keyDim, heads * valueDim];
    const shared = Math.floor((head * keyHeads) / heads) * keyDim;
    const gate = (index: number) => token[this.packedWidth + index] ?? NaN;
    const bias = (index: number) => this.bias[index] ?? NaN;
    const decay = this.decay[head] ?? NaN;
    if (operator === 'GatedDelta') {
      const query = normalized(part(shared, keyDim)).map((x) => x / Math.sqrt(keyDim));
      const key = normalized(part(keys + shared, keyDim));
      const value = part(2 * keys + head * valueDim, valueDim);
      const kept = key.map((_, i) => {
        const at = head * this.rates + (this.rates === 1 ? 0 : i);
        return Math.exp(decay * softplus(gate(heads + at) + bias(at)));
      });
      for (const [j, row] of state.entries()) {
        for (let i = 0; i < keyDim; i++) row[i]! *= kept[i] ?? NaN;
        const delta = ((value[j] ?? NaN) - dot(row, key)) * sigmoid(gate(head));
        for (let i = 0; i < keyDim; i++) row[i]! += delta * (key[i] ?? NaN);
      }
      return state.map((row) => dot(row, query));
    }
    const value = part(head * valueDim, valueDim);
    const key = part(values + shared, keyDim);
    const query = part(values + keys + shared, keyDim);
    const dt = Math.min(Math.max(softplus(gate(head) + bias(head)), limits[0]), limits[1]);
    return state.map((row, j) => {
      const x = value[j] ?? NaN;
      for (let i = 0; i < keyDim; i++) {
        row[i] = (row[i] ?? NaN) * Math.exp(decay * dt) + dt * (key[i] ?? NaN) * x;
      }
      return dot(row, query) + (this.skip[head] ?? NaN) * x;
    });
  }
}
