import { expect, test } from 'vitest';
import { Breaker } from '../../src/net/breaker.ts';

function clocked() {
  const clock = { ms: 0 };
  return { clock, breaker: new Breaker(() => clock.ms) };
}

function fail(breaker: Breaker): void {
  breaker.began();
  breaker.failed();
}

test('three failures in a row open it for a second, a success in between does not', () => {
  const { clock, breaker } = clocked();
  fail(breaker);
  fail(breaker);
  breaker.began();
  breaker.succeeded();
  fail(breaker);
  fail(breaker);
  expect(breaker.isReady).toBe(true);
  fail(breaker);
  expect(breaker.isReady).toBe(false);
  clock.ms = 999;
  expect(breaker.isReady).toBe(false);
  clock.ms = 1000;
  expect(breaker.isReady).toBe(true);
});

test('then one call tries; while it does, and twice as long if it fails, there is no other', () => {
  const { clock, breaker } = clocked();
  for (let index = 0; index < 3; index++) fail(breaker);
  clock.ms = 1000;
  breaker.began();
  expect(breaker.isReady).toBe(false);
  breaker.failed();
  clock.ms = 2999;
  expect(breaker.isReady).toBe(false);
  clock.ms = 3000;
  breaker.began();
  breaker.succeeded();
  expect(breaker.isReady).toBe(true);
  fail(breaker);
  expect(breaker.isReady).toBe(true);
});

test('calls that began together make one pause', () => {
  const { clock, breaker } = clocked();
  for (let index = 0; index < 20; index++) breaker.began();
  for (let index = 0; index < 20; index++) breaker.failed();
  clock.ms = 1000;
  expect(breaker.isReady).toBe(true);
});
