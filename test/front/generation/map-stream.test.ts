import { describe, expect, it } from 'vitest';
import { mapStream } from '../../../src/front/generation/map-stream.ts';

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

  it('ends its source when a value can not be mapped', async () => {
    const { seen, stream } = source([1, 2, 3]);
    const mapped = mapStream(stream, () => {
      throw new Error('no');
    });
    await expect(mapped.next()).rejects.toThrow('no');
    expect(seen.isReturned).toBe(true);
  });
});
