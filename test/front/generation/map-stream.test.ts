import { describe, expect, it } from 'vitest';
import { mapStream, watchStream } from '../../../src/front/generation/map-stream.ts';

function source(values: readonly number[]) {
  const seen = { isReturned: false };
  const stream = (async function* generate() {
    try {
      for (const value of values) yield value;
    } finally {
      seen.isReturned = true;
    }
  })();
  return { seen, stream };
}

describe('a mapped stream', () => {
  it('has what becomes of each value, and the last', async () => {
    const { stream } = source([1, 2]);
    const mapped = mapStream(
      stream,
      (value) => value * 10,
      () => -1,
    );
    const values: number[] = [];
    for await (const value of mapped) values.push(value);
    expect(values).toEqual([10, 20, -1]);
    expect(await mapped.next()).toEqual({ done: true, value: undefined });
  });

  it('ends its source when it is left early', async () => {
    const { seen, stream } = source([1, 2, 3]);
    for await (const _ of mapStream(stream, (value) => value)) break;
    expect(seen.isReturned).toBe(true);
  });

  it('ends its source when a value cannot be mapped', async () => {
    const { seen, stream } = source([1, 2, 3]);
    const mapped = mapStream(stream, () => {
      throw new Error('no');
    });
    await expect(mapped.next()).rejects.toThrow('no');
    expect(seen.isReturned).toBe(true);
  });

  it('of a mapped stream has what becomes of its values', async () => {
    const { seen, stream } = source([1, 2, 3]);
    const heard: unknown[] = [];
    const watched = watchStream(
      mapStream(stream, (value) => value * 10),
      { onValue: (value) => heard.push(value), onEnd: () => heard.push('end') },
    );
    const mapped = mapStream(
      watched,
      (value) => `<${value}>`,
      () => 'last',
    );
    const values: string[] = [];
    for await (const value of mapStream(mapped, (text) => text.toUpperCase())) values.push(value);
    expect(values).toEqual(['<10>', '<20>', '<30>', 'LAST']);
    expect(heard).toEqual([10, 20, 30, 'end']);
    expect(seen.isReturned).toBe(true);
  });

  it('tells its watcher of the end once, however it comes', async () => {
    const ways: ((stream: AsyncIterableIterator<number, void>) => Promise<unknown>)[] = [
      async (stream) => {
        for await (const _ of stream);
      },
      async (stream) => {
        for await (const _ of stream) break;
      },
      async (stream) => stream.return?.(),
      (stream) =>
        mapStream(stream, () => {
          throw new Error('no');
        })
          .next()
          .catch(() => {}),
    ];
    for (const way of ways) {
      let numEnds = 0;
      await way(watchStream(source([1, 2]).stream, { onValue: () => {}, onEnd: () => numEnds++ }));
      expect(numEnds).toBe(1);
    }
  });
});
