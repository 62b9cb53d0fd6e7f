import { floats, type NodeValue } from './native-node.ts';

/** Rows of states, which a node reads and writes in place. */
export class StatePool {
  readonly value: NodeValue;
  readonly rows: readonly Float32Array[];

  /** Unwritten rows must not matter: they are not numbers. */
  constructor(rows: number, width: number) {
    const data = new Float32Array(rows * width).fill(NaN);
    this.value = floats([rows, width], data);
    this.rows = Array.from({ length: rows }, (_, row) =>
      data.subarray(row * width, (row + 1) * width),
    );
  }
}

export interface StateSequence {
  /** [tokens, width] */
  readonly input: Float32Array;
  /** Rows of the pool; -1 for zeros, and for none. */
  readonly from: number;
  readonly to: number;
  /** Tokens without padding; all by default. */
  readonly count?: number;
}

export interface StateGroup {
  readonly tokens: number;
  readonly sequences: readonly StateSequence[];
}

/** Inputs of a node with states: those of all sequences together, and those of its states. */
export function inputsOf(pool: StatePool, groups: readonly StateGroup[], width: number) {
  const sequences = groups.flatMap((group) => group.sequences);
  const numTokens = groups.reduce((sum, group) => sum + group.tokens * group.sequences.length, 0);
  const input = new Float32Array(numTokens * width);
  let at = 0;
  for (const sequence of sequences) {
    input.set(sequence.input, at);
    at += sequence.input.length;
  }
  const states = [
    pool.value,
    ...groups.flatMap(({ tokens, sequences: own }): NodeValue[] => {
      const perRow = (numberOf: (sequence: StateSequence) => number): NodeValue => ({
        type: 'int32',
        shape: [own.length],
        data: Int32Array.from(own, numberOf),
      });
      const ids = new BigInt64Array(own.length * tokens);
      return [
        { type: 'int64', shape: [own.length, tokens], data: ids },
        perRow(({ from }) => from),
        perRow(({ to }) => to),
        perRow(({ count = tokens }) => count),
      ];
    }),
  ];
  return { numTokens, input, states };
}
