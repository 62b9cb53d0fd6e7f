import { readFile } from 'node:fs/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  quantizeSmallBlocks,
  SMALL_BLOCK,
} from '../../../src/model/quantize/quantize-small-blocks.ts';
import { drawnMatrix } from '../../support/drawn-matrix.ts';

/** Values, and what gguf-py makes of them (scripts/references/gguf_blocks.py). */
const FIXTURE: Record<'values' | 'Q8_0' | 'Q4_1', number[][]> = JSON.parse(
  await readFile('test/fixtures/gguf-blocks.json', 'utf8'),
);

/** The values that come back. */
function roundTrip(values: Float32Array, columns: number, bits: 4 | 8): Float32Array {
  const { packed, scales, offsets } = quantizeSmallBlocks(values, columns, bits);
  const perRow = Math.ceil(columns / SMALL_BLOCK);
  return values.map((_, index) => {
    const column = index % columns;
    const row = Math.floor(index / columns);
    const block = row * perRow + Math.floor(column / SMALL_BLOCK);
    const place = row * perRow * SMALL_BLOCK + column;
    const byte = packed[(place * bits) >> 3] ?? NaN;
    const stored = bits === 8 ? byte : place % 2 === 0 ? byte & 15 : byte >> 4;
    return (stored - 2 ** (bits - 1)) * (scales[block] ?? NaN) + (offsets?.[block] ?? 0);
  });
}

const matrix = drawnMatrix(80);

/** By block, its values' places. */
function blocksOf({ length }: Float32Array, columns: number): number[][] {
  const blocks = new Map<string, number[]>();
  for (let index = 0; index < length; index++) {
    const key = `${Math.floor(index / columns)} ${Math.floor((index % columns) / SMALL_BLOCK)}`;
    blocks.set(key, [...(blocks.get(key) ?? []), index]);
  }
  return [...blocks.values()];
}

test('an 8-bit value is at most half a step from what it stands for', () => {
  fc.assert(
    fc.property(matrix, ({ values, columns }) => {
      const back = roundTrip(values, columns, 8);
      for (const block of blocksOf(values, columns)) {
        const step = Math.max(...block.map((at) => Math.abs(values[at] ?? NaN))) / 127;
        for (const at of block) {
          const error = Math.abs((back[at] ?? NaN) - (values[at] ?? NaN));
          expect(error).toBeLessThanOrEqual(step * 0.501 + 1e-30);
        }
      }
    }),
  );
});

test('4 bits have no larger squared error than a grid from the least value to the largest', () => {
  fc.assert(
    fc.property(matrix, ({ values, columns }) => {
      const back = roundTrip(values, columns, 4);
      for (const places of blocksOf(values, columns)) {
        const block = places.map((at) => values[at] ?? NaN);
        const least = Math.min(...block);
        const step = (Math.max(...block) - least) / 15;
        const size = block.reduce((sum, value) => sum + value * value, 0);
        let [error, plainError] = [0, 0];
        for (const [i, value] of block.entries()) {
          const plain = step === 0 ? least : least + Math.round((value - least) / step) * step;
          error += (value - (back[places[i] ?? 0] ?? NaN)) ** 2;
          plainError += (value - plain) ** 2;
        }
        expect(error).toBeLessThanOrEqual(plainError * (1 + 1e-4) + size * 1e-9 + 1e-80);
      }
    }),
  );
});

describe.each([
  [8, 'Q8_0', 1.001],
  [4, 'Q4_1', 0.95],
] as const)('%i bits', (bits, type, most) => {
  test(`are nearer than gguf-py's ${type}, or as near`, () => {
    let [own, theirs] = [0, 0];
    for (const [row, values] of FIXTURE.values.entries()) {
      const back = roundTrip(Float32Array.from(values), values.length, bits);
      const size = values.reduce((sum, value) => sum + value * value, 0);
      for (const [at, value] of values.entries()) {
        own += (value - (back[at] ?? NaN)) ** 2 / size;
        theirs += (value - (FIXTURE[type][row]?.[at] ?? NaN)) ** 2 / size;
      }
    }
    expect(own).toBeGreaterThan(0);
    expect(own).toBeLessThanOrEqual(theirs * most);
  });

  test('zeros stay zeros, and so does the padding', () => {
    const { packed, scales, offsets } = quantizeSmallBlocks(new Float32Array(80), 40, bits);
    expect(new Set(packed)).toEqual(new Set([bits === 8 ? 0x80 : 0x88]));
    expect([...scales, ...(offsets ?? [])]).toEqual(Array(bits === 8 ? 4 : 8).fill(0));
  });

  test('a constant comes back', () => {
    const values = new Float32Array(33).fill(-0.75);
    for (const value of roundTrip(values, 33, bits)) expect(value).toBeCloseTo(-0.75, 6);
  });
});

test('integers of 4 bits on any grid come back as they were', () => {
  const values = Float32Array.from({ length: 64 }, (_, i) => 3.5 + ((i * 7) % 16) / 4);
  for (const [at, value] of roundTrip(values, 64, 4).entries()) {
    expect(value).toBeCloseTo(values[at] ?? NaN, 5);
  }
});
