import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { makePacked, packedBytes } from '../../../src/model/quantize/packed-matrix.ts';
import type {
  MatrixTask,
  StoredIntegers,
  WeightSource,
} from '../../../src/model/huggingface/weights.ts';
import { storedMatrix } from '../../support/native-matrices.ts';

type PackedTask = Extract<MatrixTask, { kind: 'native' }>;

/** Where a value lies, by native/kernels.h, one at a time. */
function packedValue(
  memory: Uint8Array,
  { bits, blockSize, isGated }: PackedTask,
  [rows, columns]: readonly [number, number],
  [row, column]: readonly [number, number],
): number {
  const inHalf = row % (rows / 2);
  const gated = Math.floor(inHalf / 16) * 32 + (row < rows / 2 ? 0 : 16) + (inHalf % 16);
  const place = isGated ? gated : row;
  const padded = Math.ceil(columns / 64) * 64;
  const [pair, lane] = [Math.floor(place / 32), place % 32];
  const size = blockSize ?? 0;
  if (bits === 8)
    return memory[(pair * (padded / 4) + (column >> 2)) * 128 + lane * 4 + (column & 3)] ?? 0;
  const [block, four] = [Math.floor(column / size), (column % size) >> 2];
  const vectors = (pair * (padded / size) + block) * 2 + (lane >> 4);
  const at = (vectors * (size / 8) + (four >> 1)) * 64 + (lane % 16) * 4 + (column & 3);
  const both = memory[at] ?? 0;
  return four % 2 === 0 ? both & 15 : both >> 4;
}

const matrices = fc.record({
  rows: fc.integer({ min: 1, max: 40 }).map((half) => 2 * half),
  columns: fc.constantFrom(32, 64, 96, 128, 320, 512),
  bits: fc.constantFrom(4 as const, 8 as const),
  storedSize: fc.constantFrom(16 as const, 32 as const),
  isGated: fc.boolean(),
  hasOffsets: fc.boolean(),
  cuts: fc.array(fc.integer({ min: 1, max: 79 }), { maxLength: 3 }),
});

test('integers lie where kernels look for them, whatever was in the memory and in whatever pieces they come', async () => {
  await fc.assert(
    fc.asyncProperty(matrices, async ({ rows, columns, bits, storedSize, hasOffsets, ...rest }) => {
      const stores = hasOffsets ? ('offsets' as const) : undefined;
      const { stored } = storedMatrix(rows, columns, { bits, blockSize: storedSize, stores });
      if (stored === null) throw new Error('the matrix has no integers');
      const { layout, integers } = stored;
      const weights: WeightSource = {
        get: async () => new Float32Array(),
        layout: () => layout,
        async *integerPieces() {
          const ends = [...rest.cuts.filter((cut) => cut < rows).toSorted((a, b) => a - b), rows];
          let first = 0;
          for (const end of new Set(ends)) {
            yield rowsOf(integers, rows, first, end);
            first = end;
          }
        },
        close: async () => {},
      };
      const source = { name: 'x', tensors: [{ name: 'x', rows }], columns };
      const { isGated } = rest;
      const task: PackedTask = {
        ...{ kind: 'native', source, isGated, bits, blockSize: storedSize },
        ...{ hasOffsets, isStored: true },
      };
      const dirty = new SharedArrayBuffer(packedBytes(task));
      new Uint8Array(dirty).fill(0xa5);
      await makePacked(weights, task, dirty);
      const memory = new Uint8Array(dirty);
      const wrong: string[] = [];
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
          const found = packedValue(memory, task, [rows, columns], [row, column]);
          if (found !== integers.values[row * columns + column]) wrong.push(`${row}, ${column}`);
        }
      }
      expect(wrong).toEqual([]);
      // Padding and scales, too.
      const { values, scales, offsets } = await makePacked(weights, task);
      const clean = [values, scales, ...(offsets ? [offsets] : [])];
      let at = 0;
      for (const { buffer, byteOffset, byteLength } of clean) {
        const bytes = new Uint8Array(buffer, byteOffset, byteLength);
        expect(Buffer.compare(bytes, memory.subarray(at, at + byteLength))).toBe(0);
        at += byteLength;
      }
      expect(at).toBe(memory.length);
    }),
    { numRuns: 60 },
  );
});

test('a tensor without offsets beside one with them has zeros there, whatever was in the memory', async () => {
  const [rows, columns] = [32, 64];
  const matrix = (stores?: 'offsets') =>
    storedMatrix(rows, columns, { bits: 4, blockSize: 32, stores });
  const stored = new Map([
    ['with', matrix('offsets').stored],
    ['without', matrix().stored],
  ]);
  const weights: WeightSource = {
    get: async () => new Float32Array(),
    layout: (name) => stored.get(name)?.layout ?? null,
    integers: async (name) => {
      const found = stored.get(name);
      if (!found) throw new Error(`there is no tensor ${name}`);
      return found.integers;
    },
    close: async () => {},
  };
  const tensors = [...stored.keys()].map((name) => ({ name, rows }));
  const task: PackedTask = {
    ...{ kind: 'native', source: { name: 'x', tensors, columns }, isGated: false },
    ...{ bits: 4, blockSize: 32, hasOffsets: true, isStored: true },
  };
  const memory = new SharedArrayBuffer(packedBytes(task));
  new Uint8Array(memory).fill(0xa5);
  const { offsets } = await makePacked(weights, task, memory);
  const [first, second] = [offsets?.slice(0, rows * 2), offsets?.slice(rows * 2)];
  expect(first?.some((half) => half !== 0)).toBe(true);
  expect(second).toEqual(new Uint16Array(rows * 2));
});

function rowsOf(
  { values, scales, zeroPoints, offsets = null }: StoredIntegers,
  rows: number,
  first: number,
  end: number,
): StoredIntegers {
  const part = <T extends Uint8Array | Float32Array>(all: T): T => {
    const width = all.length / rows;
    // A buffer of its own, as pieces of files have.
    return all.slice(first * width, end * width) as T;
  };
  return {
    values: part(values),
    scales: part(scales),
    zeroPoints: zeroPoints && part(zeroPoints),
    offsets: offsets && part(offsets),
  };
}
