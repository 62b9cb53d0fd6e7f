/** Against what scripts/references/optimize.py computes by other formulas. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { uniform } from '../../src/engine/sampling/philox.ts';
import { emptyBlocks, quantizeRows } from '../../src/model/quantize/quantize-blocks.ts';
import { scaleOfLeastError } from '../../src/optimize/math/block-scale.ts';
import { inverseFactor } from '../../src/optimize/math/cholesky.ts';
import { Compensation } from '../../src/optimize/math/compensation.ts';
import { contributions, largest } from '../../src/optimize/math/contributions.ts';
import { floatsOf, roundRows } from '../../src/optimize/math/integer-rows.ts';
import { leastLossWidths } from '../../src/optimize/math/least-loss.ts';
import { lowest, lowestBlocks, twoOfFour } from '../../src/optimize/math/masks.ts';
import { QuadraticError } from '../../src/optimize/math/quadratic-error.ts';
import { refitColumns, refitTo, selectColumns } from '../../src/optimize/math/refit.ts';
import { meanCosine } from '../../src/optimize/steps/prune-layers.ts';
import { typicalEnergy } from '../../src/optimize/steps/mlp-widths.ts';
import { polynomialShares } from '../../src/optimize/steps/schedule.ts';
import { searchScales } from '../../src/optimize/steps/scale-search.ts';

const numbers = z.array(z.number());
const reference = z
  .object({
    columns: z.number(),
    weights: numbers,
    gram: numbers,
    kept: numbers,
    refit: numbers,
    error: numbers,
    refit_to: numbers,
    contributions: numbers,
    contributions_of_four: numbers,
    inverse_factor: numbers,
    rounded_to_halves: numbers,
    pruned_by_wanda: numbers,
    norms: numbers,
    wanda: numbers,
    magnitude: numbers,
    two_of_four: numbers,
    by_block: numbers,
    before: numbers,
    after: numbers,
    cosine: z.number(),
  })
  .parse(JSON.parse(readFileSync('test/fixtures/optimize.json', 'utf8')));
const { columns, kept } = reference;
const weights = Float32Array.from(reference.weights);
const gram = Float64Array.from(reference.gram);

function expectNear(actual: ArrayLike<number>, expected: readonly number[], tolerance = 1e-5) {
  expect(actual).toHaveLength(expected.length);
  const far = expected.findIndex(
    (value, i) =>
      !(Math.abs((actual[i] ?? NaN) - value) <= tolerance * Math.max(1, Math.abs(value))),
  );
  expect({ far, is: actual[far] }, `expected ${expected[far]}`).toEqual({ far: -1, is: undefined });
}

/** Each row of the weights with its errors moved on. */
function compensated(replace: (row: Float64Array, column: number, index: number) => number) {
  const compensation = new Compensation(gram);
  return Array.from({ length: weights.length / columns }, (_, index) => {
    const row = Float64Array.from(weights.subarray(index * columns, (index + 1) * columns));
    compensation.apply(row, (column) => replace(row, column, index));
    return Array.from(row);
  }).flat();
}

describe('least squares', () => {
  test('columns that stay make up for those that go', () => {
    expectNear(refitColumns(weights, gram, kept), reference.refit);
  });

  test('a matrix comes nearer to what it should give', () => {
    const error = Float64Array.from(reference.error);
    expectNear(refitTo(weights, gram, error), reference.refit_to);
  });

  test('the factor of the inverse', () => {
    expectNear(inverseFactor(gram, columns), reference.inverse_factor);
  });

  test('a matrix that is not positive definite is refused', () => {
    expect(() => inverseFactor(Float64Array.of(1, 2, 2, 1), 2)).toThrow(/not positive definite/);
  });

  test('inputs that were always 0 change nothing and break nothing', () => {
    const nothing = new Float64Array(columns * columns);
    expect(refitColumns(weights, nothing, kept)).toEqual(selectColumns(weights, columns, kept));
    const row = Float64Array.from(weights.subarray(0, columns));
    new Compensation(nothing).apply(row, () => 0);
    expect(row).toEqual(new Float64Array(columns));
  });
});

describe('scores and masks', () => {
  test('contributions of columns and of units', () => {
    expectNear(contributions(weights, gram, 1), reference.contributions);
    expectNear(contributions(weights, gram, 4), reference.contributions_of_four);
  });

  test('the largest, the first of equal ones', () => {
    expect(largest([3, 5, 1, 5, 5], 2)).toEqual([1, 3]);
  });

  test('widths of least loss are the best of all there are', () => {
    const unit = 2;
    const layers = [12, 8, 12, 4];
    const losses = layers.map((channels, layer) =>
      Float64Array.from({ length: channels }, (_, i) => uniform(BigInt(layer), i) ** (1 + layer)),
    );
    const lossOf = (widths: readonly number[]) =>
      losses.reduce((total, channels, layer) => {
        const removed = [...channels].sort((a, b) => b - a).slice(widths[layer]);
        return total + removed.reduce((a, b) => a + b, 0);
      }, 0);
    const choices = (channels: number) =>
      Array.from({ length: channels / unit }, (_, i) => 2 * i + 2);
    const all = layers.reduce<number[][]>(
      (found, channels) => found.flatMap((widths) => choices(channels).map((w) => [...widths, w])),
      [[]],
    );
    for (let left = layers.length * unit; left <= 36; left += unit) {
      const candidates = all.filter((widths) => widths.reduce((a, b) => a + b, 0) === left);
      const best = Math.min(...candidates.map(lossOf));
      const widths = leastLossWidths(losses, unit, left);
      expect(widths.reduce((a, b) => a + b, 0)).toBe(left);
      expect(Math.min(...widths)).toBeGreaterThanOrEqual(unit);
      expect(lossOf(widths)).toBeCloseTo(best, 12);
    }
  });

  test('a typical token is not one with a huge hidden state', () => {
    const hidden = [Float32Array.of(3, 4, 3000, 4000), Float32Array.of(0.003, 0.004)];
    expect(typicalEnergy(hidden, 2)).toBeCloseTo(25, 4);
  });

  test('masks', () => {
    const values = weights.map(Math.abs);
    const rows = weights.length / columns;
    const scaled = values.map((value, i) => value * (reference.norms[i % columns] ?? 1));
    expect([...lowest({ values, columns }, 0.25, rows)]).toEqual(reference.magnitude);
    expect([...lowest({ values: scaled, columns }, 0.5, 1)]).toEqual(reference.wanda);
    expect([...twoOfFour({ values, columns })]).toEqual(reference.two_of_four);
    const byBlock = lowestBlocks({ values, columns }, 2, (blocks) => lowest(blocks, 0.5, 3));
    expect([...byBlock]).toEqual(reference.by_block);
  });

  test('equal scores are removed in order, no more than asked for', () => {
    const values = new Float32Array(8);
    expect([...lowest({ values, columns: 8 }, 0.5, 1)]).toEqual([1, 1, 1, 1, 0, 0, 0, 0]);
  });

  test('block influence', () => {
    const [before, after] = [reference.before, reference.after].map((each) =>
      Float32Array.from(each),
    );
    const cosine = meanCosine([before ?? weights], [after ?? weights], columns);
    expect(cosine).toBeCloseTo(reference.cosine, 6);
  });

  test('the polynomial schedule', () => {
    expectNear(polynomialShares(0.5, 4), [0.2890625, 0.4375, 0.4921875, 0.5], 1e-12);
  });
});

describe('rounding', () => {
  test('errors move on as in optimal brain compression', () => {
    const halves = compensated((row, column) => Math.round(2 * (row[column] ?? 0)) / 2);
    expectNear(halves, reference.rounded_to_halves);
    const pruned = compensated((row, column, index) =>
      reference.wanda[index * columns + column] ? 0 : (row[column] ?? 0),
    );
    expectNear(pruned, reference.pruned_by_wanda);
  });

  test('GPTQ and AWQ change products less than the nearest integers do', () => {
    const quadratic = new QuadraticError(1);
    const errorOf = (rounded: Float32Array) => {
      const lost = Float32Array.from(weights, (weight, i) => weight - (rounded[i] ?? 0));
      return quadratic.of(lost, Float32Array.from(gram));
    };
    const round = (values: Float32Array, compensation: Compensation | null) =>
      floatsOf(roundRows(values, columns, columns, compensation), columns, columns);
    const nearest = errorOf(round(weights, null));
    expect(errorOf(round(weights, new Compensation(gram)))).toBeLessThan(0.9 * nearest);
    const magnitudes = Float64Array.from(reference.norms);
    const scales = searchScales([weights], magnitudes, gram, columns, quadratic);
    const scaled = weights.map((weight, i) => weight * (scales[i % columns] ?? 1));
    const smoothed = round(scaled, null).map((value, i) => value / (scales[i % columns] ?? 1));
    expect(errorOf(smoothed)).toBeLessThanOrEqual(nearest);
    quadratic.release();
  });

  test('scales are those of a build', () => {
    const values = Float32Array.from({ length: 640 }, (_, i) => uniform(9n, i) - 0.5);
    const blocks = emptyBlocks(5, 128, 4);
    quantizeRows(values, 128, 4, blocks, 0);
    const scales = Array.from({ length: 10 }, (_, block) =>
      scaleOfLeastError(Float64Array.from(values.subarray(64 * block, 64 * (block + 1)))),
    );
    expectNear(scales, [...blocks.scales]);
  });

  test('integers stand for what they are stored as', () => {
    const { values, scales } = roundRows(weights, columns, 4, null);
    expect(Math.max(...values)).toBeLessThanOrEqual(15);
    expect(scales).toHaveLength(weights.length / 4);
    const back = floatsOf({ values, scales }, columns, 4);
    // Half a step of the coarsest block, and the one that is cut off.
    const step = Math.max(...scales.map(Math.abs));
    expect(Math.max(...back.map((value, i) => Math.abs(value - (weights[i] ?? 0))))).toBeLessThan(
      1.5 * step,
    );
  });
});
