import { describe, expect, test } from 'vitest';
import { floats, presentInstructions, randomNumbers, runNode } from '../support/native-node.ts';
import { Recurrent, type RecurrentShape } from '../support/native-recurrence.ts';
import {
  inputsOf,
  type StateGroup,
  StatePool,
  type StateSequence,
} from '../support/native-states.ts';

const SHAPES: readonly RecurrentShape[] = [
  { operator: 'GatedDelta', heads: 1, keyHeads: 1, keyDim: 16, valueDim: 16 },
  { operator: 'GatedDelta', heads: 4, keyHeads: 2, keyDim: 32, valueDim: 48 },
  { operator: 'GatedDelta', heads: 2, keyHeads: 2, keyDim: 128, valueDim: 128 },
  {
    operator: 'GatedDelta',
    heads: 4,
    keyHeads: 2,
    keyDim: 32,
    valueDim: 48,
    decaysByDimension: true,
  },
  { operator: 'SelectiveScan', heads: 3, keyHeads: 1, keyDim: 16, valueDim: 80 },
  { operator: 'SelectiveScan', heads: 4, keyHeads: 2, keyDim: 128, valueDim: 64 },
  {
    operator: 'SelectiveScan',
    heads: 2,
    keyHeads: 2,
    keyDim: 32,
    valueDim: 16,
    limits: [0.05, 0.6],
  },
];

const LENGTH = 40;

/** A text's input by token: what is packed, then its gates. */
class Text {
  readonly model: Recurrent;
  readonly input: Float32Array;

  constructor(model: Recurrent, seed: number) {
    this.model = model;
    this.input = randomNumbers(seed, LENGTH * model.width, 0.6);
  }

  part(start: number, end: number): Float32Array {
    const { width } = this.model;
    return this.input.subarray(start * width, end * width);
  }

  expected(start: number, end: number): number[] {
    const { width } = this.model;
    const tokens = Array.from({ length: end }, (_, t) =>
      this.input.subarray(t * width, (t + 1) * width),
    );
    return this.model.outputs(tokens).slice(start).flat();
  }
}

function run(
  model: Recurrent,
  pool: StatePool,
  groups: readonly StateGroup[],
  instructions: string | null = null,
  threads = 1,
): Float32Array {
  const { operator, heads, keyHeads, keyDim, valueDim, limits } = model.shape;
  const { numTokens, input, states } = inputsOf(pool, groups, model.width);
  const output = new Float32Array(numTokens * heads * valueDim).fill(NaN);
  const columns = (start: number, end: number) => {
    const data = new Float32Array(numTokens * (end - start));
    for (let t = 0; t < numTokens; t++) {
      data.set(input.subarray(t * model.width + start, t * model.width + end), t * (end - start));
    }
    return floats([numTokens, end - start], data);
  };
  const isDelta = operator === 'GatedDelta';
  runNode(
    {
      opType: operator,
      attributes: {
        num_heads: BigInt(heads),
        [isDelta ? 'key_heads' : 'num_groups']: BigInt(keyHeads),
        [isDelta ? 'key_dim' : 'state_size']: BigInt(keyDim),
        [isDelta ? 'value_dim' : 'head_dim']: BigInt(valueDim),
        ...(limits && { dt_min: limits[0], dt_max: limits[1] }),
      },
      inputs: [
        columns(0, model.packedWidth),
        columns(model.packedWidth, model.width),
        floats([heads], model.decay),
        floats([model.bias.length], model.bias),
        ...(isDelta ? [] : [floats([heads], model.skip)]),
        ...states,
      ],
      outputs: [floats([numTokens, heads * valueDim], output), pool.value],
    },
    instructions,
    threads,
  );
  return output;
}

const poolOf = ({ shape: { heads, keyDim, valueDim } }: Recurrent) =>
  new StatePool(4, heads * keyDim * valueDim);
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
  const pool = poolOf(text.model);
  const outputs: number[] = [];
  let start = 0;
  for (const [index, tokens] of chunks.entries()) {
    const input = text.part(start, start + tokens);
    const from = index === 0 ? -1 : index % 2;
    const group = alone(tokens, { input, from, to: (index + 1) % 2 });
    outputs.push(...run(text.model, pool, [group], instructions, 2));
    start += tokens;
  }
  return Float32Array.from(outputs);
}

const worstOf = (actual: Float32Array, expected: readonly number[]) =>
  expected.reduce((worst, value, i) => Math.max(worst, Math.abs(value - (actual[i] ?? NaN))), 0);

describe.each(SHAPES)('%j', (shape) => {
  const text = new Text(new Recurrent(shape), 1);
  test('is what plain loops compute, on each instruction set', () => {
    const results = presentInstructions().map((name) => inChunks(text, [LENGTH], name));
    const expected = text.expected(0, LENGTH);
    expect(worstOf(results[0] ?? new Float32Array(), expected)).toBeLessThan(1e-5);
    for (const result of results) expect(result).toEqual(results[0]);
  });

  test('chunks do not matter', () => {
    const whole = inChunks(text, [LENGTH]);
    expect(inChunks(text, [1, 1, 2, 16, 17, 3])).toEqual(whole);
    expect(inChunks(text, [20, ...Array.from({ length: 20 }, () => 1)])).toEqual(whole);
  });
});

describe.each([SHAPES[1], SHAPES[3], SHAPES[5]] as const)('in a batch, %j', (shape) => {
  const model = new Recurrent(shape as RecurrentShape);
  const first = new Text(model, 1);
  const second = new Text(model, 2);
  const size = model.shape.heads * model.shape.valueDim;

  test('padding has no effect, and its output is 0', () => {
    const pool = poolOf(model);
    const padded = Float32Array.of(...first.part(0, 2), ...second.part(0, 30));
    const before = run(model, pool, [
      alone(1, { input: second.part(0, 1), from: -1, to: 0 }),
      {
        tokens: 32,
        sequences: [
          { input: padded, from: -1, to: 1, count: 2 },
          { input: second.part(0, 32), from: -1, to: 2 },
        ],
      },
    ]);
    expect(worstOf(before.subarray(size), first.expected(0, 2))).toBeLessThan(1e-5);
    expect(before.subarray(size * 3, size * 33).every((x) => x === 0)).toBe(true);
    const input = first.part(2, 12);
    const after = run(model, pool, [alone(10, { input, from: 1, to: 3 })]);
    expect(worstOf(after, first.expected(2, 12))).toBeLessThan(1e-5);
  });

  test('a state is read by several, and kept; what has no row is written nowhere', () => {
    const pool = poolOf(model);
    run(model, pool, [alone(4, { input: first.part(0, 4), from: -1, to: 1 })]);
    const rows = pool.rows.map((row) => row.slice());
    const input = first.part(4, 9);
    const output = run(model, pool, [
      { tokens: 5, sequences: [2, -1].map((to) => ({ input, from: 1, to })) },
      {
        tokens: 5,
        sequences: [
          { input, from: 1, to: 3, count: 0 },
          { input, from: -1, to: -1, count: 0 },
        ],
      },
    ]);
    const width = 5 * size;
    expect(worstOf(output, first.expected(4, 9))).toBeLessThan(1e-5);
    expect(output.subarray(width, 2 * width)).toEqual(output.subarray(0, width));
    expect(output.subarray(2 * width).every((x) => x === 0)).toBe(true);
    expect(pool.rows[3]).toEqual(rows[1]);
    for (const row of [0, 1]) expect(pool.rows[row]).toEqual(rows[row]);
  });

  test('a text without tokens begins with zeros', () => {
    const pool = poolOf(model);
    const input = first.part(0, 1);
    run(model, pool, [alone(1, { input, from: -1, to: 0, count: 0 })]);
    expect(pool.rows[0]?.every((x) => x === 0)).toBe(true);
  });

  test('what is not a number reaches no other sequence', () => {
    const spoiled = first.part(0, 5).slice().fill(NaN);
    const sequences = [
      { input: spoiled, from: -1, to: 0 },
      { input: first.part(0, 5), from: -1, to: 1 },
    ];
    const output = run(model, poolOf(model), [{ tokens: 5, sequences }]);
    expect(output.subarray(5 * size)).toEqual(inChunks(first, [5]));
  });

  test.each([
    ['a row past the pool', { from: 4, to: 0 }, /not in the pool/],
    ['a row before it', { from: 0, to: -2 }, /not in the pool/],
    ['more tokens than there are', { from: 0, to: 1, count: 6 }, /state_tokens/],
  ])('%s is refused', (_, sequence, reason) => {
    const group = alone(5, { ...sequence, input: first.part(0, 5) });
    expect(() => run(model, poolOf(model), [group])).toThrow(reason);
  });
});
