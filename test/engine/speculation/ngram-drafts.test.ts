import { describe, expect, it } from 'vitest';
import { NgramDrafts } from '../../../src/engine/speculation/ngram-drafts.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { engineRequest } from '../../support/engine-requests.ts';

const always = (_kind: number) => 1;

function sequenceOf(tokenIds: readonly number[], cacheSalt = ''): Sequence {
  return new Sequence(engineRequest({ promptTokenIds: Int32Array.from(tokenIds), cacheSalt }));
}

function draft(drafts: NgramDrafts, sequence: Sequence, numTokens = 4, rateOf = always) {
  const { tokenIds, kinds } = drafts.draft(sequence, numTokens, rateOf);
  expect(kinds).toHaveLength(tokenIds.length);
  return [...tokenIds];
}

describe('drafts from texts', () => {
  it('go on as the text did after the longest match', () => {
    // 7 comes after 3, but 5 after 2 3, and 9 after 1 2 3.
    const text = [1, 2, 3, 9, 8, 4, 2, 3, 5, 6, 4, 3, 7, 4, 1, 2, 3];
    expect(draft(new NgramDrafts(), sequenceOf(text))).toEqual([9, 8, 4, 2]);
  });

  it('prefer the latest of equal matches', () => {
    expect(draft(new NgramDrafts(), sequenceOf([1, 2, 5, 1, 2, 6, 1, 2]), 1)).toEqual([6]);
  });

  it('go round in a loop', () => {
    expect(draft(new NgramDrafts(), sequenceOf([4, 5, 6, 4, 5, 6]), 7)).toEqual([
      4, 5, 6, 4, 5, 6, 4,
    ]);
  });

  it('are empty when nothing comes back', () => {
    expect(draft(new NgramDrafts(), sequenceOf([1, 2, 3, 4]))).toEqual([]);
    expect(draft(new NgramDrafts(), sequenceOf([1]))).toEqual([]);
  });

  it('end where they would hardly come true', () => {
    const rare = draft(new NgramDrafts(), sequenceOf([4, 5, 6, 4, 5, 6]), 7, () => 0.3);
    expect(rare).toEqual([4, 5]);
  });

  it('go on as earlier texts did, but not those of others', () => {
    const drafts = new NgramDrafts();
    draft(drafts, sequenceOf([1, 2, 3, 4, 5, 6, 7, 8, 9]));
    expect(draft(drafts, sequenceOf([0, 3, 4, 5]))).toEqual([6, 7, 8, 9]);
    expect(draft(drafts, sequenceOf([0, 3, 4, 5], 'another'))).toEqual([]);
  });

  it('know a text as it grows', () => {
    const drafts = new NgramDrafts();
    const growing = sequenceOf([1, 2, 3]);
    draft(drafts, growing);
    for (const tokenId of [4, 5]) growing.append(tokenId);
    draft(drafts, growing);
    expect(draft(drafts, sequenceOf([0, 1, 2, 3]))).toEqual([4, 5]);
  });

  it('follow what has come true more often', () => {
    const drafts = new NgramDrafts();
    draft(drafts, sequenceOf([7, 8, 9, 1]));
    // The text itself says 2 after 9, other texts 1 after 7 8 9.
    const sequence = sequenceOf([9, 2, 7, 8, 9]);
    const { tokenIds, kinds } = drafts.draft(sequence, 1, always);
    expect([...tokenIds]).toEqual([2]);
    const [ofText] = kinds;
    expect(draft(drafts, sequence, 1, (kind) => (kind === ofText ? 0.6 : 0.5))).toEqual([2]);
    expect(draft(drafts, sequence, 1, (kind) => (kind === ofText ? 0.4 : 0.5))).toEqual([1]);
  });

  it('are believed more where the text and others agree, and less where they do not', () => {
    const drafts = new NgramDrafts();
    const believe = (tokenIds: readonly number[]) => {
      const [kind = -1] = drafts.draft(sequenceOf(tokenIds), 1, always).kinds;
      return drafts.priorRate(kind);
    };
    const first = believe([9, 2, 7, 8, 9]);
    draft(drafts, sequenceOf([7, 8, 9, 2]));
    draft(drafts, sequenceOf([7, 8, 9, 2]));
    const agreed = believe([9, 2, 7, 8, 9]);
    expect(agreed).toBeGreaterThan(first);
    draft(drafts, sequenceOf([7, 8, 9, 3]));
    expect(believe([9, 2, 7, 8, 9])).toBeLessThan(agreed);
  });

  it('are believed less where something else came each time', () => {
    const steady = new NgramDrafts();
    const changing = new NgramDrafts();
    for (const next of [5, 6, 7]) {
      draft(steady, sequenceOf([1, 2, 3, 7]));
      draft(changing, sequenceOf([1, 2, 3, next]));
    }
    const drafted = [steady, changing].map((drafts) => {
      const { tokenIds, kinds } = drafts.draft(sequenceOf([1, 2, 3]), 1, always);
      expect([...tokenIds]).toEqual([7]);
      return drafts.priorRate(kinds[0] ?? -1);
    });
    expect(drafted[0]).toBeGreaterThan(drafted[1] ?? 1);
  });

  it('are believed more where all of the output matches', () => {
    const believe = (prompt: readonly number[], output: readonly number[]) => {
      const drafts = new NgramDrafts();
      const sequence = sequenceOf(prompt);
      for (const tokenId of output) sequence.append(tokenId);
      const { tokenIds, kinds } = drafts.draft(sequence, 1, () => 1);
      expect([...tokenIds]).toEqual([6]);
      return drafts.priorRate(kinds[0] ?? -1);
    };
    expect(believe([5, 6, 1], [5])).toBeGreaterThan(believe([5, 6, 1], [2, 3, 4, 5]));
  });

  it('end where the text would', () => {
    const promptTokenIds = Int32Array.of(4, 5, 6, 7, 4);
    const sequence = new Sequence(engineRequest({ promptTokenIds, stopTokenIds: [6] }));
    expect(draft(new NgramDrafts(), sequence)).toEqual([5, 6]);
  });
});
