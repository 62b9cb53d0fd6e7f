import { expect, test } from 'vitest';
import { RecentLatency, WINDOW_TURNS } from '../../../src/observability/recent/recent-latency.ts';

test('a turn has the times that came in it, and no others', () => {
  const latency = new RecentLatency();
  latency.add(10);
  latency.add(10);
  expect(latency.turn().size).toBe(2);
  latency.add(1000);
  const second = latency.turn();
  expect(second.size).toBe(1);
  expect(second.quantile(0.5)).toBeCloseTo(1000, -2);
  expect(latency.turn().size).toBe(0);
});

test('the summary has all that is in the window, the turn that goes on included', () => {
  const latency = new RecentLatency();
  latency.add(1);
  latency.turn();
  latency.add(100);
  expect(latency.summary()).toMatchObject({ count: 2 });
  expect(latency.summary().p50).toBeCloseTo(1, 1);
  expect(latency.summary().p99).toBeCloseTo(100, -1);
});

test('what is too long ago is forgotten, and not before', () => {
  const latency = new RecentLatency();
  latency.add(5);
  let numTurns = 0;
  for (; latency.summary().count > 0; numTurns++) latency.turn();
  expect(numTurns).toBe(WINDOW_TURNS + 1);
  expect(latency.summary().p50).toBeNaN();
});
