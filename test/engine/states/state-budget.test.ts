import { describe, expect, it } from 'vitest';
import { stateBudget, type StateDemand } from '../../../src/engine/states/state-budget.ts';

const demand: StateDemand = {
  // 4 KiB a row.
  states: [
    { name: 'layers.0.convolution', width: 24 },
    { name: 'layers.0.recurrence', width: 1000 },
  ],
  maxNumSeqs: 4,
  numSlots: 8,
  capacity: 4096,
  prefixCaching: true,
  memoryBytes: 2 ** 20,
  bytesPerPosition: 100,
};

describe('memory of states', () => {
  it('is two rows for all that runs, and snapshots within their share', () => {
    expect(stateBudget(demand)).toEqual({ numRows: 8 + 64, spacing: 64, byteLength: 72 * 4096 });
  });

  it('is no more than the texts of the slots can have snapshots', () => {
    expect(stateBudget({ ...demand, memoryBytes: 2 ** 30 }).numRows).toBe(8 + 8 * (2 + 64));
    expect(stateBudget({ ...demand, prefixCaching: false }).numRows).toBe(8);
  });

  it('has snapshots farther apart where they take more than keys and values', () => {
    const spacings = [100, 63, 15, 7, 1, 0].map((bytesPerPosition) => {
      return stateBudget({ ...demand, bytesPerPosition }).spacing;
    });
    expect(spacings).toEqual([64, 128, 512, 1024, 1024, 1024]);
  });

  it('is all of it where there are no keys and values', () => {
    const alone = { ...demand, bytesPerPosition: 0, memoryBytes: 10 * 4096 };
    expect(stateBudget(alone)).toEqual({ numRows: 10, spacing: 1024, byteLength: 10 * 4096 });
    expect(stateBudget({ ...alone, memoryBytes: 2 ** 30 }).numRows).toBe(8 + 8 * (2 + 4));
  });

  it('has to do for all that runs', () => {
    expect(() => stateBudget({ ...demand, memoryBytes: 30_000 })).toThrow(
      '30000 bytes are too few for the states of 4 sequences: each takes 8192. Raise ' +
        '--kv-cache-memory or lower --max-num-seqs',
    );
  });
});
