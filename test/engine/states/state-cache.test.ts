import { describe, expect, it } from 'vitest';
import { withDraft } from '../../../src/engine/drafter.ts';
import { PUBLIC_SALT } from '../../../src/engine/request.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { StateCache } from '../../../src/engine/states/state-cache.ts';
import { segmentOf } from '../../../src/engine/step.ts';
import { engineRequest } from '../../support/engine-requests.ts';

const text = (length: number, first = 1) => Int32Array.from({ length }, (_, at) => first + at);

const cacheOf = (numRows: number) => new StateCache({ numRows, spacing: 8, minLength: 4 });

function sequenceOf(promptTokenIds: Int32Array, cacheSalt = '') {
  return new Sequence(engineRequest({ promptTokenIds, cacheSalt }));
}

/** A run of so many tokens that counts. @returns the rows that it read and wrote */
function run(cache: StateCache, sequence: Sequence, numTokens: number) {
  const rows = cache.rowsOf(segmentOf(sequence, numTokens));
  sequence.numComputedTokens += numTokens;
  cache.advance(sequence);
  return rows;
}

describe('a text that begins like another one', () => {
  const shared = text(30);
  const next = (cache: StateCache, first: number) => {
    const sequence = sequenceOf(Int32Array.of(...shared, ...text(4, first)));
    sequence.numComputedTokens = cache.longestShared(sequence, '', shared.length);
    cache.begin(sequence);
    return sequence;
  };

  it('leaves a snapshot where they part, a little before, for a third one', () => {
    const cache = new StateCache({ numRows: 12, spacing: 1024, minLength: 16 });
    const second = next(cache, 100);
    expect(second.numComputedTokens).toBe(0);
    expect(cache.borderAfter(second, 0)).toBe(16);
    expect(cache.borderAfter(second, 15)).toBe(16);
    expect(cache.borderAfter(second, 16)).toBe(1024);
    run(cache, second, 16);
    run(cache, second, 18);
    cache.end(second, false);
    const third = next(cache, 200);
    expect(third.numComputedTokens).toBe(16);
    // It has nothing to add to that.
    expect(cache.borderAfter(third, 16)).toBe(1024);
  });

  it('has none where that saves next to nothing, or the usual place comes first', () => {
    const close = new StateCache({ numRows: 12, spacing: 8, minLength: 16 });
    const sequence = next(close, 100);
    expect(close.borderAfter(sequence, 0)).toBe(8);
    expect(close.borderAfter(sequence, 8)).toBe(16);
    const short = new StateCache({ numRows: 12, spacing: 1024, minLength: 32 });
    expect(short.borderAfter(next(short, 100), 0)).toBe(1024);
  });
});

describe('the states of running sequences', () => {
  it('are read from one row and written to another, and a snapshot is a row left alone', () => {
    const cache = cacheOf(4);
    const sequence = sequenceOf(text(20));
    cache.begin(sequence);
    expect(run(cache, sequence, 3)).toEqual({ from: -1, to: 0 });
    expect(run(cache, sequence, 3)).toEqual({ from: 0, to: 1 });
    expect(run(cache, sequence, 2)).toEqual({ from: 1, to: 0 });
    // After 8 tokens there is a snapshot in row 0.
    expect(run(cache, sequence, 1)).toEqual({ from: 0, to: 1 });
    expect(run(cache, sequence, 1)).toEqual({ from: 1, to: 2 });
    cache.end(sequence, false);
    expect(cache.rows.numFree).toBe(3);
    expect(cache.longest('', text(20), 20)).toBe(8);
  });

  it('stay as they were by a run that failed or does not count', () => {
    const cache = cacheOf(2);
    const sequence = sequenceOf(text(5));
    cache.begin(sequence);
    run(cache, sequence, 2);
    const rows = cache.rowsOf(segmentOf(sequence, 3));
    expect(cache.rowsOf(segmentOf(sequence, 3))).toEqual(rows);
    // The last token is to be computed again, and the state before it is lost.
    sequence.numComputedTokens = 4;
    cache.advance(sequence);
    expect(cache.numBehind(sequence)).toBe(2);
    expect(cache.rowsOf(segmentOf(sequence, 3, 2))).toEqual(rows);
    sequence.numComputedTokens = 5;
    cache.advance(sequence);
    expect(cache.numBehind(sequence)).toBe(0);
  });

  it('are some tokens behind after a draft that came true in part, and have none until they caught up', () => {
    const cache = cacheOf(2);
    const sequence = sequenceOf(text(3));
    cache.begin(sequence);
    run(cache, sequence, 3);
    sequence.append(9);
    // A draft ends with the place of a snapshot at the latest.
    expect(cache.maxDraftTokens(sequence)).toBe(4);
    const rows = cache.rowsOf(withDraft(segmentOf(sequence, 1), Int32Array.of(9, 8)));
    sequence.append(9);
    sequence.append(9);
    sequence.numComputedTokens = 5;
    cache.advance(sequence);
    expect(cache.numBehind(sequence)).toBe(2);
    expect(cache.maxDraftTokens(sequence)).toBe(0);
    expect(cache.rowsOf(segmentOf(sequence, 3, 3))).toEqual(rows);
    sequence.append(9);
    sequence.numComputedTokens = 6;
    cache.advance(sequence);
    expect(cache.numBehind(sequence)).toBe(0);
    expect(cache.maxDraftTokens(sequence)).toBe(1);
    expect(cache.rowsOf(segmentOf(sequence, 1)).from).toBe(rows.to);
  });

  it.each([
    [65, 64],
    [66, 0],
  ])(
    'of %i tokens without their last are %i behind: what is more is planned anew',
    (length, behind) => {
      const cache = cacheOf(2);
      const sequence = sequenceOf(text(length));
      cache.begin(sequence);
      cache.rowsOf(segmentOf(sequence, length));
      sequence.numComputedTokens = length - 1;
      cache.advance(sequence);
      expect(cache.numBehind(sequence)).toBe(behind);
      expect(sequence.numComputedTokens).toBe(behind);
    },
  );

  it('are kept after a prompt, and where a sequence ends, unless it is to leave nothing', () => {
    const cache = cacheOf(8);
    const lengths = (keep: boolean, first: number) => {
      const sequence = sequenceOf(text(5, first));
      cache.begin(sequence);
      run(cache, sequence, 5);
      sequence.append(99);
      run(cache, sequence, 1);
      cache.end(sequence, keep);
      return [5, 6].map((length) => cache.longest('', sequence.tokenIds(), length));
    };
    expect(lengths(true, 10)).toEqual([5, 6]);
    expect(lengths(false, 20)).toEqual([5, 5]);
  });

  it('are shared by sequences of the same client, and those for all by everyone', () => {
    const cache = cacheOf(8);
    for (const salt of ['own', PUBLIC_SALT]) {
      const first = sequenceOf(text(9, salt.length), salt);
      cache.begin(first);
      run(cache, first, 8);
      const second = sequenceOf(text(9, salt.length), 'own');
      second.numComputedTokens = 8;
      cache.begin(second);
      const from = [first, second].map((each) => cache.rowsOf(segmentOf(each, 1)).from);
      expect(from[0]).toBe(from[1]);
    }
    const other = sequenceOf(text(9, 3), 'other');
    other.numComputedTokens = 8;
    expect(() => cache.begin(other)).toThrow('there is no state after 8 tokens');
  });

  it('take rows of snapshots unused for longest, but none that is still read', () => {
    const cache = cacheOf(4);
    const leave = (first: number) => {
      const sequence = sequenceOf(text(9, first));
      cache.begin(sequence);
      run(cache, sequence, 8);
      cache.end(sequence, false);
    };
    leave(100);
    leave(200);
    const readerOf = (first: number) => {
      const reader = sequenceOf(text(9, first));
      reader.numComputedTokens = 8;
      cache.begin(reader);
      return reader;
    };
    const reader = readerOf(100);
    cache.end(readerOf(200), false);
    // Two rows are of snapshots, the older of which is in use, and two of another sequence.
    const writer = sequenceOf(text(9, 300));
    cache.begin(writer);
    for (let token = 0; token < 7; token++) run(cache, writer, 1);
    cache.rowsOf(segmentOf(writer, 1));
    expect(cache.longest('', text(9, 200), 8)).toBe(8);
    cache.rowsOf(segmentOf(reader, 1));
    expect([100, 200].map((first) => cache.longest('', text(9, first), 8))).toEqual([8, 0]);
  });

  it('are never kept where an image is cut after less of its ids than prove which it is', () => {
    const cache = cacheOf(8);
    const image = [-11, -12, -13, -14, -15, -16];
    for (const [before, kept] of [
      [3, 8],
      [5, 0],
    ] as const) {
      const tokenIds = Int32Array.of(...text(before, 50 * before), ...image);
      const sequence = sequenceOf(tokenIds);
      cache.begin(sequence);
      run(cache, sequence, 8);
      expect(cache.longest('', tokenIds, 8)).toBe(kept);
    }
  });
});
