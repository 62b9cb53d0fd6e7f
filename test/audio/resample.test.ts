/** Sines are their own reference: resampled, they are the same sines. */
import { describe, expect, test } from 'vitest';
import { Resampler } from '../../src/audio/resample.ts';

const TO = 16_000;

describe.each([
  [8000, 1e-4],
  [22_050, 1e-4],
  [44_100, 1e-4],
  [48_000, 1e-4],
  [96_000, 1e-4],
  // No common divisor: the nearest of 2,048 phases is taken.
  [44_101, 1e-3],
])('from %i to 16,000 per second', (from, bound) => {
  test.each([50, 440, 0.4 * Math.min(from, TO)])(`%f Hz stays what it is`, (hz) => {
    const found = resampled(sine(from, hz, from), from);
    expect(found).toHaveLength(TO);
    const expected = sine(TO, hz, TO);
    // Before its beginning and after its end there is silence, and no sine.
    expect(farthest(found.subarray(500, -500), expected.subarray(500, -500))).toBeLessThan(bound);
  });

  test('what 16,000 per second cannot have is gone', () => {
    if (from <= TO) return;
    const found = resampled(sine(from, 0.51 * TO, from), from);
    const loudest = found.subarray(500, -500).reduce((max, x) => Math.max(max, Math.abs(x)), 0);
    expect(loudest).toBeLessThan(2e-4);
  });

  test('pieces of any size give the same as the whole', () => {
    const whole = sine(from, 440, 5000);
    const resampler = new Resampler(from, TO);
    const found: number[] = [];
    for (let at = 0, size = 1; at < whole.length; at += size, size = (size * 7 + 3) % 997) {
      found.push(...resampler.push(whole.subarray(at, at + size)));
    }
    found.push(...resampler.end());
    expect(Float32Array.from(found)).toEqual(resampled(whole, from));
  });
});

function sine(rate: number, hz: number, count: number): Float32Array {
  return Float32Array.from({ length: count }, (_, index) =>
    Math.sin((2 * Math.PI * hz * index) / rate),
  );
}

function resampled(input: Float32Array, from: number): Float32Array {
  const resampler = new Resampler(from, TO);
  return Float32Array.from([...resampler.push(input), ...resampler.end()]);
}

function farthest(found: Float32Array, expected: Float32Array): number {
  return found.reduce((max, x, index) => Math.max(max, Math.abs(x - (expected[index] ?? NaN))), 0);
}
