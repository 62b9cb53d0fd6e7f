import { expect, test } from 'vitest';
import { changedInTurns, normalized } from '../../../src/front/embedding/vectors.ts';

test('a vector gets length 1; one of zeros stays', () => {
  expect([...normalized(Float32Array.of(3, 4))]).toEqual([Math.fround(0.6), Math.fround(0.8)]);
  expect([...normalized(Float32Array.of(0, 0))]).toEqual([0, 0]);
});

test('others get turns of the event loop while many vectors are changed', async () => {
  let turn = 0;
  const count = (): void => {
    turn++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const turns = new Set<number>();
  const vectors = Array.from({ length: 128 }, () => new Float32Array(2048).fill(1));
  const changed = await changedInTurns(vectors, (vector) => {
    turns.add(turn);
    return normalized(vector);
  });
  clearImmediate(timer);
  expect(changed).toHaveLength(128);
  expect(changed[127]?.[0]).toBeCloseTo(1 / Math.sqrt(2048));
  expect(turns.size).toBeGreaterThanOrEqual(4);
});
