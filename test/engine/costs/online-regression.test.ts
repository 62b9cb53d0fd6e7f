import { describe, expect, it } from 'vitest';
import { OnlineRegression } from '../../../src/engine/costs/online-regression.ts';

describe('online regression', () => {
  it('finds the line that its samples lie on, and follows when it changes', () => {
    const costs = new OnlineRegression([1, 1]);
    for (let x = 0; x < 100; x++) costs.add([1, x % 17], 12 + 3 * (x % 17));
    expect(costs.predict([1, 40])).toBeCloseTo(132, 0);
    for (let x = 0; x < 1500; x++) costs.add([1, x % 17], 6 + (x % 17));
    expect(costs.predict([1, 40])).toBeCloseTo(46, 0);
  });

  it('keeps its expectation of what samples say nothing about', () => {
    const costs = new OnlineRegression([5, 2]);
    for (let count = 0; count < 50; count++) costs.add([1, 0], 9);
    expect(costs.predict([1, 0])).toBeCloseTo(9, 0);
    expect(costs.predict([1, 10]) - costs.predict([1, 0])).toBeCloseTo(20, 1);
  });

  it('never comes to negative costs', () => {
    const costs = new OnlineRegression([1, 1]);
    for (let x = 0; x < 100; x++) costs.add([1, x % 9], 50 - (x % 9));
    expect(costs.predict([0, 1])).toBe(0);
  });
});
