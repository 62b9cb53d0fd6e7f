import { expect, test } from 'vitest';
import { argmax } from '../../src/engine/sampling/argmax.ts';
import { floats, presentInstructions, randomNumbers, runNode } from '../support/native-node.ts';

/** The best of each row, on an instruction set. */
function best(rows: readonly Float32Array[], instructions: string | null, threads = 1): number[] {
  const columns = rows[0]?.length ?? 0;
  const logits = Float32Array.from(rows.flatMap((row) => [...row]));
  const data = new Int32Array(rows.length).fill(-7);
  runNode(
    {
      opType: 'Best',
      attributes: { columns: BigInt(columns) },
      inputs: [floats([rows.length, columns], logits)],
      outputs: [{ type: 'int32', shape: [rows.length], data }],
    },
    instructions,
    threads,
  );
  return [...data];
}

test.each([1, 7, 16, 33, 1000, 1024, 1025, 49_152])(
  'of %i logits it is what the sampler finds, on every instruction set',
  (columns) => {
    const plain = randomNumbers(1, columns);
    const negative = plain.map((x) => -Math.abs(x) - 1);
    const coarse = plain.map((x) => Math.round(x));
    const withNaN = plain.map((x, i) => (i % 3 === 0 ? NaN : x));
    const minusZero = new Float32Array(columns).fill(-0);
    minusZero[columns - 1] = 0;
    const infinite = plain.map((x, i) => (i === columns >> 1 ? Infinity : x));
    const nothing = new Float32Array(columns).fill(-Infinity);
    const noNumbers = new Float32Array(columns).fill(NaN);
    const last = new Float32Array(columns).fill(-Infinity);
    last[columns - 1] = -3;
    const special = [withNaN, minusZero, infinite, nothing, noNumbers, last];
    const rows = [plain, negative, coarse, ...special];
    const wanted = rows.map(argmax);
    expect(wanted[7]).toBe(-1);
    for (const instructions of presentInstructions()) {
      expect(best(rows, instructions)).toEqual(wanted);
    }
    expect(best(rows, null, 3)).toEqual(wanted);
  },
);

test('logits that are no whole rows are refused', () => {
  const data = new Int32Array(1);
  const call = {
    opType: 'Best',
    attributes: { columns: 4n },
    inputs: [floats([1, 5], new Float32Array(5))],
    outputs: [{ type: 'int32', shape: [1], data }],
  } as const;
  expect(() => runNode(call)).toThrow('logits have no whole rows');
});
