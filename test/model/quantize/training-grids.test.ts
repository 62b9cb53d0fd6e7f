import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import {
  BLOCK_SIZE,
  emptyBlocks,
  quantizeRows,
} from '../../../src/model/quantize/quantize-blocks.ts';
import { quantizeRow } from '../../../src/model/quantize/make-rows.ts';

/** Values, and what scripts/training/grids.py makes of them (test_student.py --write). */
const FIXTURE: Record<string, number[][]> = JSON.parse(
  await readFile('test/fixtures/training/grids.json', 'utf8'),
);
const VALUES = FIXTURE['values'] ?? [];
const COLUMNS = VALUES[0]?.length ?? 0;

/** As a product reads what quantizeRows stores. */
function inBlocks(row: readonly number[], bits: 4 | 8): number[] {
  const blocks = emptyBlocks(1, COLUMNS, bits);
  quantizeRows(Float32Array.from(row), COLUMNS, bits, blocks, 0);
  return row.map((_, at) => {
    const byte = blocks.packed[bits === 8 ? at : at >> 1] ?? 0;
    const stored = bits === 8 ? byte - 128 : (at & 1 ? byte >> 4 : byte & 15) - 8;
    return stored * (blocks.scales[Math.floor(at / BLOCK_SIZE)] ?? 0);
  });
}

function inRows(row: readonly number[]): number[] {
  const integers = new Int8Array(COLUMNS);
  const scale = quantizeRow(Float32Array.from(row), integers);
  return Array.from(integers, (integer) => integer * scale);
}

test.each([
  ['int8_rows', inRows, 1e-6],
  ['int8_blocks', (row: readonly number[]) => inBlocks(row, 8), 1e-6],
  // In training the scales are float16, as our own kernels keep them.
  ['int4_blocks', (row: readonly number[]) => inBlocks(row, 4), 1e-3],
] as const)(
  'students are trained on the grid %s that weights are stored on',
  (name, grid, most) => {
    expect(VALUES).toHaveLength(6);
    for (const [index, row] of VALUES.entries()) {
      const trained = FIXTURE[name]?.[index] ?? [];
      expect(trained).toHaveLength(COLUMNS);
      for (const [at, value] of grid(row).entries()) {
        const expected = trained[at] ?? Number.NaN;
        expect(Math.abs(value - expected)).toBeLessThanOrEqual(
          most * Math.max(1e-3, Math.abs(expected)),
        );
      }
    }
  },
);
