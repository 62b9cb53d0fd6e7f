import { describe, expect, test } from 'vitest';
import { floats, presentInstructions, randomNumbers, runNode } from '../support/native-node.ts';
import {
  inputsOf,
  type StateGroup,
  StatePool,
  type StateSequence,
} from '../support/native-states.ts';

interface Shape {
  readonly channels: number;
  readonly kernel: number;
  readonly activation?: 'silu';
  readonly isGated?: boolean;
  readonly hasBias?: boolean;
}

const SHAPES: readonly Shape[] = [
  { channels: 16, kernel: 2 },
  { channels: 48, kernel: 3, isGated: true },
  { channels: 32, kernel: 4, activation: 'silu', hasBias: true },
  { channels: 64, kernel: 8, isGated: true, hasBias: true },
];

const silu = (x: number) => x / (1 + Math.exp(-x));

/** A text's input, and what a convolution gives for each token, in plain loops. */
class Text {
  readonly shape: Shape;
  readonly width: number;
  readonly input: Float32Array;
  readonly weights: Float32Array;
  readonly bias: Float32Array;

  constructor(shape: Shape, seed: number, length: number) {
    const { channels, kernel, isGated = false } = shape;
    this.shape = shape;
    this.width = channels * (isGated ? 3 : 1);
    this.input = randomNumbers(seed, length * this.width);
    this.weights = randomNumbers(100, channels * kernel, 0.5);
    this.bias = randomNumbers(101, channels);
  }

  part(start: number, end: number): Float32Array {
    return this.input.subarray(start * this.width, end * this.width);
  }

  #convolved(token: number, channel: number): number {
    if (token < 0) return 0;
    const at = token * this.width + channel;
    const x = this.input[at] ?? NaN;
    return this.shape.isGated ? x * (this.input[at + 2 * this.shape.channels] ?? NaN) : x;
  }

  expected(start: number, end: number): number[] {
    const { channels, kernel, activation, isGated, hasBias } = this.shape;
    return Array.from({ length: (end - start) * channels }, (_, index) => {
      const token = start + Math.floor(index / channels);
      const channel = index % channels;
      let sum = hasBias ? (this.bias[channel] ?? NaN) : 0;
      for (let tap = 0; tap < kernel; tap++) {
        const weight = this.weights[channel * kernel + tap] ?? NaN;
        sum += weight * this.#convolved(token - (kernel - 1) + tap, channel);
      }
      const activated = activation === 'silu' ? silu(sum) : sum;
      const gate = this.input[token * this.width + channels + channel] ?? NaN;
      return isGated ? activated * gate : activated;
    });
  }
}

function run(
  { shape, weights, bias, width }: Text,
  pool: StatePool,
  groups: readonly StateGroup[],
  instructions: string | null = null,
  threads = 1,
): Float32Array {
  const { channels, kernel, activation, isGated, hasBias } = shape;
  const { numTokens, input, states } = inputsOf(pool, groups, width);
  const output = new Float32Array(numTokens * channels).fill(NaN);
  runNode(
    {
      opType: 'ShortConvolution',
      attributes: {
        channels: BigInt(channels),
        kernel: BigInt(kernel),
        activation: activation === 'silu' ? 1n : 0n,
        gated: isGated ? 1n : 0n,
      },
      inputs: [
        floats([numTokens, width], input),
        floats([channels, kernel], weights),
        hasBias ? floats([channels], bias) : undefined,
        ...states,
      ],
      outputs: [floats([numTokens, channels], output), pool.value],
    },
    instructions,
    threads,
  );
  return output;
}

const poolOf = ({ channels, kernel }: Shape) => new StatePool(8, channels * (kernel - 1));
const alone = (tokens: number, sequence: StateSequence): StateGroup => ({
  tokens,
  sequences: [sequence],
});

/** A text of its own, chunk by chunk: its state goes back and forth between two rows. */
function inChunks(
  text: Text,
  chunks: readonly number[],
  instructions: string | null = null,
): Float32Array {
  const pool = poolOf(text.shape);
  const outputs: number[] = [];
  let start = 0;
  for (const [index, tokens] of chunks.entries()) {
    const input = text.part(start, start + tokens);
    const from = index === 0 ? -1 : index % 2;
    outputs.push(
      ...run(text, pool, [alone(tokens, { input, from, to: (index + 1) % 2 })], instructions, 2),
    );
    start += tokens;
  }
  return Float32Array.from(outputs);
}

const worstOf = (actual: Float32Array, expected: readonly number[]) =>
  expected.reduce((worst, value, i) => Math.max(worst, Math.abs(value - (actual[i] ?? NaN))), 0);

describe.each(SHAPES)('%j', (shape) => {
  const text = new Text(shape, 1, 20);
  test('is what plain loops compute, on each instruction set', () => {
    const results = presentInstructions().map((name) => inChunks(text, [20], name));
    expect(worstOf(results[0] ?? new Float32Array(), text.expected(0, 20))).toBeLessThan(2e-6);
    for (const result of results) expect(result).toEqual(results[0]);
  });

  test('chunks do not matter', () => {
    const whole = inChunks(text, [20]);
    expect(inChunks(text, [1, 1, 1, 2, 9, 6])).toEqual(whole);
    expect(
      inChunks(
        text,
        Array.from({ length: 20 }, () => 1),
      ),
    ).toEqual(whole);
  });
});

describe('in a batch', () => {
  const shape: Shape = { channels: 32, kernel: 4, activation: 'silu', hasBias: true };
  const first = new Text(shape, 1, 9);
  const second = new Text(shape, 2, 9);

  test('padding has no effect, and its output is 0', () => {
    const pool = poolOf(shape);
    const padded = Float32Array.of(...first.part(0, 2), ...second.part(0, 3));
    const before = run(first, pool, [
      alone(1, { input: second.part(0, 1), from: -1, to: 2 }),
      {
        tokens: 5,
        sequences: [
          { input: padded, from: -1, to: 3, count: 2 },
          { input: second.part(0, 5), from: -1, to: 4 },
        ],
      },
    ]);
    expect(worstOf(before.subarray(32), first.expected(0, 2))).toBeLessThan(2e-6);
    expect(before.subarray(32 + 2 * 32, 32 + 5 * 32).every((x) => x === 0)).toBe(true);
    const after = run(first, pool, [alone(7, { input: first.part(2, 9), from: 3, to: 5 })]);
    expect(worstOf(after, first.expected(2, 9))).toBeLessThan(2e-6);
  });

  test('a state is read by several, and kept; what has no row is written nowhere', () => {
    const pool = poolOf(shape);
    run(first, pool, [alone(4, { input: first.part(0, 4), from: -1, to: 1 })]);
    const rows = pool.rows.map((row) => row.slice());
    const input = first.part(4, 9);
    const output = run(first, pool, [
      { tokens: 5, sequences: [2, -1].map((to) => ({ input, from: 1, to })) },
      { tokens: 5, sequences: [{ input, from: 1, to: 3, count: 0 }] },
    ]);
    const width = 5 * 32;
    expect(worstOf(output, first.expected(4, 9))).toBeLessThan(2e-6);
    expect(output.subarray(width, 2 * width)).toEqual(output.subarray(0, width));
    expect(pool.rows[3]).toEqual(rows[1]);
    for (const row of [0, 1, 4, 5, 6, 7]) expect(pool.rows[row]).toEqual(rows[row]);
  });

  test('what is not a number reaches no other sequence', () => {
    const spoiled = first.part(0, 5).slice().fill(NaN);
    const sequences = [
      { input: spoiled, from: -1, to: 0 },
      { input: first.part(0, 5), from: -1, to: 1 },
    ];
    const output = run(first, poolOf(shape), [{ tokens: 5, sequences }]);
    expect(output.subarray(5 * 32)).toEqual(inChunks(first, [5]));
  });

  test.each([
    ['a row past the pool', { from: 8, to: 0 }, /not in the pool/],
    ['a row before it', { from: 0, to: -2 }, /not in the pool/],
    ['more tokens than there are', { from: 0, to: 1, count: 6 }, /state_tokens/],
    ['less than none', { from: 0, to: 1, count: -1 }, /state_tokens/],
  ])('%s is refused', (_, sequence, reason) => {
    const group = alone(5, { ...sequence, input: first.part(0, 5) });
    expect(() => run(first, poolOf(shape), [group])).toThrow(reason);
  });
});
