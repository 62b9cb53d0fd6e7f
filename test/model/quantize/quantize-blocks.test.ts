import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  BLOCK_SIZE,
  blockBytes,
  emptyBlocks,
  quantizeRows,
  type QuantizedBlocks,
} from '../../../src/model/quantize/quantize-blocks.ts';
import { dequantize } from '../../support/block-reference.ts';
import { drawnMatrix } from '../../support/drawn-matrix.ts';

function quantize(values: Float32Array, columns: number, bits: 4 | 8): QuantizedBlocks {
  const target = emptyBlocks(values.length / columns, columns, bits);
  quantizeRows(values, columns, bits, target, 0);
  return target;
}

const matrix = drawnMatrix(150);

/** The value of largest magnitude in the block that a value belongs to; the first of several. */
function furthest(values: Float32Array, columns: number, index: number): number {
  const rowStart = Math.floor(index / columns) * columns;
  const start = rowStart + Math.floor((index - rowStart) / BLOCK_SIZE) * BLOCK_SIZE;
  const block = values.subarray(start, Math.min(start + BLOCK_SIZE, rowStart + columns));
  return block.reduce((far, value) => (Math.abs(value) > Math.abs(far) ? value : far), 0);
}

test('an 8-bit value is at most half a step from what it stands for', () => {
  fc.assert(
    fc.property(matrix, ({ values, columns }) => {
      const rows = values.length / columns;
      const back = dequantize(quantize(values, columns, 8), rows, columns, 8);
      back.forEach((value, i) => {
        const step = Math.abs(furthest(values, columns, i)) / 127;
        expect(Math.abs(value - (values[i] ?? NaN))).toBeLessThanOrEqual(step * 0.501 + 1e-30);
      });
    }),
  );
});

test('4 bits have no more squared error than the scale that takes the furthest value to -8', () => {
  fc.assert(
    fc.property(matrix, ({ values, columns }) => {
      const rows = values.length / columns;
      const back = dequantize(quantize(values, columns, 4), rows, columns, 4);
      let error = 0;
      let plainError = 0;
      values.forEach((value, i) => {
        const scale = furthest(values, columns, i) / -8;
        const plain = scale === 0 ? 0 : Math.min(7, Math.round(value / scale)) * scale;
        error += (value - (back[i] ?? NaN)) ** 2;
        plainError += (value - plain) ** 2;
      });
      expect(error).toBeLessThanOrEqual(plainError * (1 + 1e-5) + 1e-9);
    }),
  );
});

describe.each([4, 8] as const)('%i bits', (bits) => {
  test('zeros stay zeros, and so does the padding', () => {
    const { packed, scales } = quantize(new Float32Array(100), 100, bits);
    expect(packed).toHaveLength(2 * blockBytes(bits));
    expect(new Set(packed)).toEqual(new Set([bits === 8 ? 0x80 : 0x88]));
    expect([...scales]).toEqual([0, 0]);
  });

  test('integers that fit come back as they were', () => {
    const lowest = -(2 ** (bits - 1)) + (bits === 8 ? 1 : 0);
    const span = 2 ** bits - (bits === 8 ? 1 : 0);
    const values = Float32Array.from({ length: 128 }, (_, i) => (lowest + (i % span)) / 4);
    values[64] = lowest / 4;
    expect(dequantize(quantize(values, 128, bits), 1, 128, bits)).toEqual(values);
  });

  test('rows are written where they are asked to', () => {
    const target = emptyBlocks(3, 70, bits);
    const values = Float32Array.from({ length: 70 }, (_, i) => Math.sin(i));
    quantizeRows(values, 70, bits, target, 1);
    const alone = quantize(values, 70, bits);
    const rowBytes = 2 * blockBytes(bits);
    expect(target.packed.subarray(rowBytes, 2 * rowBytes)).toEqual(alone.packed);
    expect([...target.scales]).toEqual([0, 0, ...alone.scales, 0, 0]);
  });
});
