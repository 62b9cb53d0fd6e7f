import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { mergeStreams } from '../../../src/front/generation/merge-streams.ts';

/** Counts what was pulled, and notes its end. */
class Source {
  pulled = 0;
  returned = false;
  readonly #values: readonly string[];
  readonly #fail: boolean;

  constructor(values: readonly string[], fail = false) {
    this.#values = values;
    this.#fail = fail;
  }

  async *stream(): AsyncGenerator<string, void> {
    try {
      for (const value of this.#values) {
        this.pulled++;
        await setImmediate();
        yield value;
      }
      if (this.#fail) throw new Error('source failed');
    } finally {
      this.returned = true;
    }
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
}

describe('mergeStreams', () => {
  it('gives every value once, in the order of its stream', async () => {
    const sources = [['a', 'b', 'c'], [], ['d'], ['e', 'f']].map((values) => new Source(values));
    const seen: string[][] = sources.map(() => []);
    for await (const { index, value } of mergeStreams(sources.map((source) => source.stream()))) {
      seen[index]?.push(value);
    }
    expect(seen).toEqual([['a', 'b', 'c'], [], ['d'], ['e', 'f']]);
    expect(sources.every(({ returned }) => returned)).toBe(true);
  });

  it('pulls at most one value of each stream ahead', async () => {
    const sources = [new Source(['a', 'b', 'c', 'd']), new Source(['e', 'f', 'g', 'h'])];
    const merged = mergeStreams(sources.map((source) => source.stream()));
    await merged.next();
    await settle();
    expect(sources.map(({ pulled }) => pulled)).toEqual([1, 1]);
    await merged.next();
    await settle();
    expect(sources.reduce((sum, { pulled }) => sum + pulled, 0)).toBe(3);
    await merged.return();
    await settle();
    expect(sources.every(({ returned }) => returned)).toBe(true);
  });

  it('throws the failure of any, and returns the others', async () => {
    const sources = [new Source(['a', 'b', 'c', 'd', 'e']), new Source(['f'], true)];
    const merged = mergeStreams(sources.map((source) => source.stream()));
    const drain = async () => {
      for await (const _ of merged);
    };
    await expect(drain()).rejects.toThrow('source failed');
    await settle();
    expect(sources.every(({ returned }) => returned)).toBe(true);
    expect(sources[0]?.pulled).toBeLessThan(5);
  });
});
