import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Engine } from '../../src/engine/engine.ts';
import {
  embeddedParts,
  endOfRun,
  provenLength,
  requireEmbeddings,
} from '../../src/engine/prompt-embeddings.ts';
import type { EngineRequest } from '../../src/engine/request.ts';
import { applyDry } from '../../src/engine/sampling/dry.ts';
import { TokenCounts } from '../../src/engine/sampling/token-counts.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { NgramDrafts } from '../../src/engine/speculation/ngram-drafts.ts';
import { wireEvents } from '../../src/front/kv-events/event-batch.ts';
import { engineRequest } from '../support/engine-requests.ts';

const WIDTH = 3;
const rowsOf = (count: number) => new Float32Array(count * WIDTH).fill(0.5);

type Given = Pick<EngineRequest, 'promptTokenIds' | 'embeddings'>;

function given(
  promptTokenIds: readonly number[],
  ...embeddings: readonly (readonly [start: number, rows: Float32Array<ArrayBuffer>])[]
): Given {
  return {
    promptTokenIds: Int32Array.from(promptTokenIds),
    embeddings: embeddings.map(([start, rows]) => ({ start, rows })),
  };
}

const withNumber = (value: number) => rowsOf(2).fill(value, 4, 5);

describe('embeddings of a prompt', () => {
  it.each<[string, Given]>([
    ['none', given([1, 2, 3])],
    ['where its ids say so', given([1, -2, -3, 4], [1, rowsOf(2)])],
    ['side by side, up to its end', given([-1, -2, -3], [0, rowsOf(1)], [1, rowsOf(2)])],
  ])('may be %s', (_name, request) => {
    expect(() => requireEmbeddings(request, WIDTH)).not.toThrow();
  });

  it('may lie in a grid of as many', () => {
    const { promptTokenIds } = given([1, -2, -3, -4, -5]);
    const inGrid = (height: number, width: number): Given => {
      return {
        promptTokenIds,
        embeddings: [{ start: 1, rows: rowsOf(4), grid: { height, width } }],
      };
    };
    expect(() => requireEmbeddings(inGrid(2, 2), WIDTH)).not.toThrow();
    for (const [height, width] of [
      [2, 3],
      [0, 4],
      [-2, -2],
      [1.5, 2],
    ] as const) {
      expect(() => requireEmbeddings(inGrid(height, width), WIDTH)).toThrow(/4 embeddings are no/);
    }
    expect(() => requireEmbeddings(inGrid(8, 0.5), WIDTH)).toThrow(/no 8 x 0.5/);
  });

  it.each<[string, Given, RegExp]>([
    ['of which one is missing', given([1, -2, -3, 4], [1, rowsOf(1)]), /missing/],
    ['all missing', given([1, -2]), /missing/],
    ['over a token', given([1, -2, 3], [1, rowsOf(2)]), /has tokens/],
    ['past its end', given([1, -2], [1, rowsOf(2)]), /has tokens/],
    ['before its beginning', given([-1, 2], [-1, rowsOf(1)]), /out of order/],
    ['between positions', given([-1, -2], [0.5, rowsOf(1)]), /out of order/],
    ['over each other', given([-1, -2, -3], [0, rowsOf(2)], [1, rowsOf(2)]), /out of order/],
    ['out of order', given([-1, 2, -3], [2, rowsOf(1)], [0, rowsOf(1)]), /out of order/],
    ['of no rows', given([-1], [0, rowsOf(0)]), /no whole rows/],
    ['of half a row', given([-1], [0, new Float32Array(4)]), /no whole rows/],
    ['that is not a number', given([-1, -2], [0, withNumber(NaN)]), /not finite/],
    ['that is infinite', given([-1, -2], [0, withNumber(-Infinity)]), /not finite/],
  ])('are refused, %s', (_name, request, message) => {
    expect(() => requireEmbeddings(request, WIDTH)).toThrow(message);
  });

  it('are refused by models that take none', () => {
    const embedded = given([1, -2], [1, rowsOf(1)]);
    expect(() => requireEmbeddings(embedded, null)).toThrow('takes no embeddings');
    expect(() => requireEmbeddings(given([1, -2]), null)).toThrow('takes no embeddings');
    expect(() => requireEmbeddings(given([1, 2]), null)).not.toThrow();
    const parts = { kvCache: { maxTokens: 100 } } as ConstructorParameters<typeof Engine>[0];
    const engine = new Engine(parts);
    expect(() => engine.add(engineRequest(embedded))).toThrow('takes no embeddings');
  });

  it('are found by their positions, whatever the stretch', () => {
    const numbers = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(numbers, numbers, fc.nat(30), fc.nat(30), (lengths, gaps, a, b) => {
        let position = 0;
        let value = 0;
        const rowAt = new Map<number, number>();
        const embeddings = lengths.map((length, at) => {
          position += (gaps[at] ?? 1) - 1;
          const start = position;
          const rows = rowsOf(length).map((_, index) => value + Math.floor(index / WIDTH));
          for (let row = 0; row < length; row++) rowAt.set(position++, value++);
          return { start, rows };
        });
        const [from, to] = a < b ? [a, b] : [b, a];
        const found = embeddedParts({ embeddings }, from, to, WIDTH).flatMap(({ start, rows }) =>
          Array.from({ length: rows.length / WIDTH }, (_, row) => [start + row, rows[row * WIDTH]]),
        );
        expect(found).toEqual([...rowAt].filter(([at]) => at >= from && at < to));
      }),
    );
  });
});

it.each([
  [[1, 2, 3], 3, 3],
  [[1, -2, -3, -4], 4, 1],
  [[1, -2, -3, -4, -5], 5, 5],
  [[1, -2, -3, -4, -5], 3, 1],
  [[-2, -3], 2, 0],
  [[1, -2, 3], 3, 3],
  [[], 0, 0],
])('of %j, %i of them equal, %i are so for certain', (tokenIds, length, proven) => {
  expect(provenLength(Int32Array.from(tokenIds), length)).toBe(proven);
});

describe('what is no token', () => {
  it('is not counted', () => {
    const { tokenIds, counts } = new TokenCounts().countUpTo(Int32Array.of(4, -7, -7, 5, 4));
    expect([tokenIds, counts]).toEqual([
      [4, 5],
      [2, 1],
    ]);
  });

  it('ends a repetition, and is none', () => {
    const dryOf = (...ids: number[]) => {
      const logits = new Float32Array(8);
      const sequence = new Sequence(engineRequest({ promptTokenIds: Int32Array.from(ids) }));
      const penalty = { multiplier: 1, base: 2, allowedLength: 2, lastTokens: -1 };
      applyDry(logits, sequence, { ...penalty, breakers: new Int32Array() });
      return [...logits].map((logit) => Math.abs(logit));
    };
    expect(dryOf(1, 2, 3, 1, 2)).toEqual([0, 0, 0, 1, 0, 0, 0, 0]);
    expect(dryOf(1, 2, -3, 1, 2)).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(dryOf(1, -2, 3, 1, -2)).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    // The three tokens after the images are repeated, and not the images before them.
    expect(dryOf(-9, 1, 2, 3, 4, -9, 1, 2, 3)[4]).toBe(dryOf(1, 2, 3, 4, 0, 1, 2, 3)[4]);
  });

  it('is in no draft, from its own text or others', () => {
    const drafts = new NgramDrafts();
    const draftAfter = (...ids: number[]) => {
      const sequence = new Sequence(engineRequest({ promptTokenIds: Int32Array.from(ids) }));
      return [...drafts.draft(sequence, 4, () => 1).tokenIds];
    };
    expect(draftAfter(1, 2, 3, -4, -5, 6, 1, 2, 3)).toEqual([]);
    expect(draftAfter(1, 2, 3, 9, 7, 1, 2, 3, -4, 6, 1, 2, 3)[0]).toBe(9);
    expect(draftAfter(8, 1, 2, 3)[0]).toBe(9);
  });

  it('is told to routers as a number above all tokens, another for each image', () => {
    const event = { type: 'stored' as const, names: [1], parent: null, salt: '' };
    const idsOf = (...tokenIds: number[]) => wireEvents([{ ...event, tokenIds }], 16)[0]?.[3];
    expect(idsOf(5, -1, -(2 ** 31), 6)).toEqual([5, 2 ** 32 - 1, 2 ** 31, 6]);
  });
});

describe('a run over images whose tokens see each other', () => {
  const images = (...all: readonly (readonly [start: number, end: number])[]) => ({
    embeddings: all.map(([start, attentionEnd]) => {
      return { start, rows: rowsOf(attentionEnd - start), attentionEnd };
    }),
  });

  it('ends before one, or behind it where it begins there', () => {
    const request = images([4, 8], [10, 12]);
    const ends = (start: number) =>
      Array.from({ length: 14 - start }, (_, more) => endOfRun(request, start, start + more + 1));
    expect(ends(0)).toEqual([1, 2, 3, 4, 4, 4, 4, 8, 9, 10, 10, 12, 13, 14]);
    expect(ends(4)).toEqual([8, 8, 8, 8, 9, 10, 10, 12, 13, 14]);
    // All of it was computed once, and some was found.
    expect(ends(6)).toEqual([8, 8, 9, 10, 10, 12, 13, 14]);
    expect(ends(11)).toEqual([12, 13, 14]);
  });

  it('may end anywhere in others, and always gets on', () => {
    expect(endOfRun({}, 3, 5)).toBe(5);
    const causal = { embeddings: [{ start: 2, rows: rowsOf(4) }] };
    expect(endOfRun(causal, 0, 3)).toBe(3);
    const gaps = fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 5 })), { maxLength: 4 });
    fc.assert(
      fc.property(gaps, fc.nat(30), fc.integer({ min: 1, max: 30 }), (all, start, wanted) => {
        let end = 0;
        const spans = all.map(([gap, length]): [number, number] => {
          const first = end + gap;
          end = first + length;
          return [first, end];
        });
        const found = endOfRun(images(...spans), start, start + wanted);
        expect(found).toBeGreaterThan(start);
        expect(found).toBeLessThan(start + wanted + 5);
        for (const [first, last] of spans) expect(first < found && found < last).toBe(false);
      }),
    );
  });

  it('has them end where their rows do', () => {
    const request = { promptTokenIds: Int32Array.of(1, -1, -2, 3) };
    const endingAt = (attentionEnd: number) => ({
      ...request,
      embeddings: [{ start: 1, rows: rowsOf(2), attentionEnd }],
    });
    expect(() => requireEmbeddings(endingAt(3), WIDTH)).not.toThrow();
    for (const end of [0, 1, 2, 4, 1e9, NaN]) {
      expect(() => requireEmbeddings(endingAt(end), WIDTH)).toThrow(/up to 3 ends at/);
    }
  });
});
