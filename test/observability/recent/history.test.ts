import { expect, test } from 'vitest';
import { History } from '../../../src/observability/recent/history.ts';

test('keeps the last samples, in order, and gives those that are newer than a time', () => {
  const history = new History(['a', 'b'], 3);
  expect(history.since(0)).toEqual({ times: [], series: { a: [], b: [] } });
  expect(history.last('a')).toBeNull();
  for (let time = 1; time <= 5; time++) history.add(time, { a: time * 10, b: -time });
  expect(history.size).toBe(3);
  expect(history.since(0)).toEqual({
    times: [3, 4, 5],
    series: { a: [30, 40, 50], b: [-3, -4, -5] },
  });
  expect(history.since(4)).toEqual({ times: [5], series: { a: [50], b: [-5] } });
  expect(history.since(5).times).toEqual([]);
  expect(history.last('a')).toBe(50);
});

test('what is no number is null, and numbers have four digits', () => {
  const history = new History(['a'], 2);
  history.add(1, { a: NaN });
  history.add(2, { a: 1 / 3 });
  expect(history.since(0).series.a).toEqual([null, 0.3333]);
});
