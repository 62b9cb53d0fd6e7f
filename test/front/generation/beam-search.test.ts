import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BeamSearch,
  type BeamSearchOptions,
  inPlace,
  logprobsOf,
  tokensOf,
} from '../../../src/front/generation/beam-search.ts';
import { drawnLogits, toldAfter } from '../../support/beam-model.ts';

interface Model {
  readonly vocabSize: number;
  readonly seed: number;
}

interface Text {
  readonly tokenIds: readonly number[];
  readonly score: number;
}

function logprobsAfter({ vocabSize, seed }: Model, text: Iterable<number>): Float32Array {
  const told = toldAfter(drawnLogits(vocabSize, seed, text), vocabSize);
  const row = new Float32Array(vocabSize);
  for (let column = 1; column <= vocabSize; column++) {
    row[told.tokenIds[column] ?? 0] = told.logprobs[column] ?? 0;
  }
  return row;
}

function run(model: Model, options: BeamSearchOptions): { search: BeamSearch; texts: Text[] } {
  const search = new BeamSearch(options);
  while (!search.isOver) {
    const { numCandidates } = search;
    search.advance(
      search.live.map((beam) =>
        toldAfter(drawnLogits(model.vocabSize, model.seed, tokensOf(beam)), numCandidates),
      ),
    );
  }
  const texts = search.found.map(({ beam, score }) => ({ tokenIds: [...tokensOf(beam)], score }));
  return { search, texts };
}

/** Every text there is, the best first. */
function allTexts(model: Model, options: BeamSearchOptions): Text[] {
  const { stopTokenIds, maxTokens, minTokens, lengthPenalty } = options;
  const found: Text[] = [];
  const extend = (tokenIds: readonly number[], sum: number): void => {
    for (const [tokenId, logprob] of logprobsAfter(model, tokenIds).entries()) {
      const isStop = stopTokenIds.includes(tokenId);
      if (isStop && tokenIds.length < minTokens) continue;
      const text = [...tokenIds, tokenId];
      const total = Math.fround(sum + logprob);
      if (isStop || text.length === maxTokens) {
        found.push({ tokenIds: text, score: Math.fround(total / text.length ** lengthPenalty) });
      } else extend(text, total);
    }
  };
  extend([], 0);
  return found.sort((a, b) => b.score - a.score);
}

/** Transformers' search step by step, over whole rows of the vocabulary. */
function denseSearch(model: Model, options: BeamSearchOptions): Text[] {
  const { width, stopTokenIds, maxTokens, minTokens, lengthPenalty, earlyStopping } = options;
  let running: Text[] = [{ tokenIds: [], score: 0 }];
  let finished: Text[] = [];
  const numKept = Math.max(2, 1 + stopTokenIds.length) * width;
  for (let length = 1; ; length++) {
    const kept = running
      .flatMap(({ tokenIds, score }) =>
        [...logprobsAfter(model, tokenIds)].map((logprob, tokenId) => {
          const isBanned = stopTokenIds.includes(tokenId) && tokenIds.length < minTokens;
          const sum = isBanned ? -Infinity : Math.fround(score + logprob);
          return { tokenIds: [...tokenIds, tokenId], score: sum };
        }),
      )
      .sort((a, b) => (b.score === a.score ? 0 : b.score - a.score))
      .slice(0, numKept);
    const hits = ({ tokenIds }: Text) =>
      stopTokenIds.includes(tokenIds.at(-1) ?? -1) || length === maxTokens;
    const ended = kept.slice(0, width).filter(hits);
    finished = [
      ...finished,
      ...ended.map(({ tokenIds, score }) => ({
        tokenIds,
        score: Math.fround(score / length ** lengthPenalty),
      })),
    ]
      .sort((a, b) => b.score - a.score)
      .slice(0, width);
    running = kept.filter((text) => !hits(text)).slice(0, width);
    const isFull = finished.length === width;
    const hoped = earlyStopping === 'never' && lengthPenalty > 0 ? maxTokens : length;
    const best = Math.fround((running[0]?.score ?? -Infinity) / hoped ** lengthPenalty);
    const isHopeless = isFull && !(best > (finished.at(-1)?.score ?? 0));
    if (length === maxTokens || isHopeless || (isFull && earlyStopping === true)) return finished;
  }
}

const settings = fc.record({
  lengthPenalty: fc.constantFrom(1, 0, 2, -1, 0.6),
  earlyStopping: fc.constantFrom<boolean | 'never'>(true, false, 'never'),
  minTokens: fc.nat(3),
  maxTokens: fc.integer({ min: 1, max: 5 }),
  stopTokenIds: fc.constantFrom([], [0], [0, 2]),
  logprobs: fc.constant(null),
});

describe('BeamSearch', () => {
  it('finds the best of all texts when its width leaves nothing out', () => {
    fc.assert(
      fc.property(settings, fc.integer({ min: 3, max: 4 }), fc.nat(1e6), (asked, size, seed) => {
        const model = { vocabSize: size, seed };
        const maxTokens = Math.min(4, asked.maxTokens);
        const minTokens = Math.min(asked.minTokens, maxTokens);
        const options = { ...asked, maxTokens, minTokens, earlyStopping: false, width: 300 };
        expect(run(model, options).texts).toEqual(allTexts(model, options));
      }),
    );
  });

  it('does what Transformers does over whole rows, for any width', () => {
    fc.assert(
      fc.property(
        settings,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 12, max: 30 }),
        fc.nat(1e6),
        (asked, width, vocabSize, seed) => {
          const options = {
            ...asked,
            width,
            minTokens: Math.min(asked.minTokens, asked.maxTokens),
          };
          const model = { vocabSize, seed };
          expect(run(model, options).texts).toEqual(denseSearch(model, options));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('has `width` beams at most, the likeliest first, and of width 1 takes the likeliest token', () => {
    const model = { vocabSize: 9, seed: 3 };
    const options: BeamSearchOptions = {
      width: 1,
      maxTokens: 6,
      minTokens: 0,
      stopTokenIds: [],
      lengthPenalty: 1,
      earlyStopping: false,
      logprobs: null,
    };
    const greedy: number[] = [];
    while (greedy.length < 6) {
      const row = logprobsAfter(model, greedy);
      greedy.push(row.indexOf(Math.max(...row)));
    }
    expect(run(model, options).texts.map(({ tokenIds }) => tokenIds)).toEqual([greedy]);
    const search = new BeamSearch({ ...options, width: 3 });
    for (let step = 0; step < 5; step++) {
      search.advance(search.live.map((beam) => toldAfter(drawnLogits(9, 3, tokensOf(beam)), 3)));
      const scores = search.live.map(({ score }) => score);
      expect(scores).toHaveLength(3);
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    }
  });

  it('keeps what was told of each token, with its rank', () => {
    const { search } = run(
      { vocabSize: 12, seed: 8 },
      {
        width: 3,
        maxTokens: 4,
        minTokens: 0,
        stopTokenIds: [],
        lengthPenalty: 1,
        earlyStopping: false,
        logprobs: 2,
      },
    );
    for (const { beam } of search.found) {
      const tokenIds = [...tokensOf(beam)];
      const told = logprobsOf(beam);
      expect(told.map((entry) => entry.tokenIds[0])).toEqual(tokenIds);
      for (const [at, { tokenIds: ids, logprobs, ranks }] of told.entries()) {
        const row = logprobsAfter({ vocabSize: 12, seed: 8 }, tokenIds.slice(0, at));
        const order = [...row.keys()].sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0));
        expect([...ids]).toEqual([tokenIds[at], order[0], order[1]]);
        expect([...logprobs]).toEqual([...ids].map((id) => row[id]));
        expect(ranks[0]).toBe(order.indexOf(tokenIds[at] ?? -1) + 1);
      }
      const sum = told.reduce((total, { logprobs }) => total + (logprobs[0] ?? 0), 0);
      expect(sum).toBeCloseTo(beam.score, 4);
    }
  });

  it('leaves a vocabulary that is smaller than its width as it is', () => {
    const options: BeamSearchOptions = {
      width: 8,
      maxTokens: 1,
      minTokens: 0,
      stopTokenIds: [],
      lengthPenalty: 1,
      earlyStopping: false,
      logprobs: null,
    };
    expect(run({ vocabSize: 3, seed: 1 }, options).texts).toHaveLength(3);
  });
});

describe('inPlace', () => {
  it('leaves what goes on where it was computed, and puts the others where something ended', () => {
    const beam = (parent: Parameters<typeof inPlace>[0][number] | null, tokenId: number) => ({
      parent,
      tokenId,
      length: 1,
      score: 0,
      logprobs: null,
    });
    const before = [0, 1, 2, 3].map((id) => beam(null, id));
    const [first = beam(null, 0), , third = first] = before;
    const children = [beam(third, 4), beam(first, 5), beam(third, 6), beam(third, 7)];
    expect(inPlace(children, before).map(({ tokenId }) => tokenId)).toEqual([5, 6, 4, 7]);
    // Fewer than before.
    expect(inPlace(children.slice(0, 2), before).map(({ tokenId }) => tokenId)).toEqual([5, 4]);
    expect(inPlace(children, []).map(({ tokenId }) => tokenId)).toEqual([4, 5, 6, 7]);
  });
});
