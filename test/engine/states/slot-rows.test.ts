/** Decoders without a cache of states: each slot's text goes on or begins anew. */
import { afterAll, describe, expect, it } from 'vitest';
import { calibrateKv } from '../../../src/engine/cpu/kv-calibration.ts';
import { SlotRows } from '../../../src/engine/states/slot-rows.ts';
import { LockstepDecoder } from '../../../src/eval/lockstep-decoder.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { deviation, HYBRID_FIXTURES, readReferences } from '../../support/family-text.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const source = { kind: 'folder', path: `${HYBRID_FIXTURES}/lfm2` } as const;

describe('rows of slots', () => {
  it('are read and written in turn, and the same for the same run', () => {
    const rows = new SlotRows(2);
    expect(rows.rowsAt(1, 0, 5)).toEqual({ from: -1, to: 2 });
    expect(rows.rowsAt(1, 5, 1)).toEqual({ from: 2, to: 3 });
    expect(rows.rowsAt(1, 5, 1)).toEqual({ from: 2, to: 3 });
    expect(rows.rowsAt(1, 6, 1)).toEqual({ from: 3, to: 2 });
    expect(rows.rowsAt(0, 0, 1)).toEqual({ from: -1, to: 0 });
    expect(rows.rowsAt(1, 0, 1)).toEqual({ from: -1, to: 2 });
  });

  it('have no state to go back to', () => {
    const rows = new SlotRows(1);
    rows.rowsAt(0, 0, 5);
    rows.rowsAt(0, 5, 5);
    expect(() => rows.rowsAt(0, 3, 1)).toThrow('the state after 3 tokens of slot 0 is gone');
  });
});

it.each([
  ['fp32', {}, 1e-5],
  ['int8', { calibrateKv }, 0.2],
] as const)(
  'an evaluation in %s, token by token, has the logits',
  async (precision, more, most) => {
    const model = await prepareModel(source, { precision, ...more, cacheDirectory: cache.path });
    const decoder = new LockstepDecoder(model, { numSlots: 2, capacity: 64, threads: 1 });
    for (const { ids, lengths, logitsAt } of await readReferences('lfm2', HYBRID_FIXTURES)) {
      for (const [position, tokenId] of ids.entries()) {
        decoder.step([
          { tokenId: 63 - tokenId, position },
          { tokenId, position },
        ]);
        const length = position + 1;
        if (!lengths.includes(length)) continue;
        expect(deviation(decoder.logits(1), logitsAt(length))).toBeLessThan(most);
      }
    }
    decoder.release();
  },
);
