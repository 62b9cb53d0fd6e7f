import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  bfloat16ToFloat32,
  float32ToBfloat16,
  float16ToFloat32,
  float32ToFloat16,
} from '../../../src/model/huggingface/float-conversion.ts';

const ALL = Uint16Array.from({ length: 0x1_0000 }, (_, bits) => bits);

/** A value from its sign, exponent and fraction bits, by the definition in IEEE 754. */
function decode(bits: number, exponentBits: number, fractionBits: number): number {
  const sign = bits >>> 15 === 1 ? -1 : 1;
  const exponent = (bits >>> fractionBits) & (2 ** exponentBits - 1);
  const fraction = bits & (2 ** fractionBits - 1);
  const bias = 2 ** (exponentBits - 1) - 1;
  if (exponent === 2 ** exponentBits - 1) {
    return fraction === 0 ? sign * Infinity : Number.NaN;
  }
  return exponent === 0
    ? sign * fraction * 2 ** (1 - bias - fractionBits)
    : sign * (1 + fraction * 2 ** -fractionBits) * 2 ** (exponent - bias);
}

test.each([
  ['float16', float16ToFloat32, 5, 10],
  ['bfloat16', bfloat16ToFloat32, 8, 7],
] as const)('every %s is converted exactly', (_, convert, exponentBits, fractionBits) => {
  const target = new Float32Array(ALL.length);
  convert(ALL, target);
  const wrong = [...ALL].filter(
    (bits) => !Object.is(target[bits], decode(bits, exponentBits, fractionBits)),
  );
  expect(wrong).toEqual([]);
});

test('a part of an array is written where it lies', () => {
  const target = new Float32Array(4);
  float16ToFloat32(Uint16Array.of(0x3c00), target.subarray(2, 3));
  bfloat16ToFloat32(Uint16Array.of(0x4000), target.subarray(3, 4));
  expect(target).toEqual(Float32Array.of(0, 0, 1, 2));
});

describe('float32 to float16', () => {
  /** Every float16 but NaNs, as float32. */
  const halves = Uint16Array.from({ length: 0x1_0000 }, (_, half) => half).filter(
    (half) => (half & 0x7fff) <= 0x7c00,
  );
  const values = new Float32Array(halves.length);
  float16ToFloat32(halves, values);

  test('every float16 comes back as it was', () => {
    expect(float32ToFloat16(values)).toEqual(halves);
  });

  test('halfway between two float16 is rounded to the even one', () => {
    const positive = values.subarray(0, 0x7c00);
    const middles = positive.subarray(1).map((value, i) => (value + (positive[i] ?? NaN)) / 2);
    const even = Uint16Array.from(middles, (_, i) => i + (i % 2));
    expect(float32ToFloat16(middles)).toEqual(even);
  });

  test('any other value goes to the nearest', () => {
    fc.assert(
      fc.property(fc.float({ min: -65504, max: 65504, noNaN: true }), (value) => {
        const [half = 0] = float32ToFloat16(Float32Array.of(value));
        const near = new Float32Array(3);
        float16ToFloat32(Uint16Array.of(half, half - 1, half + 1), near);
        const [error = NaN, below = NaN, above = NaN] = near.map((other) =>
          Math.abs(other - value),
        );
        for (const other of [below, above].filter((each) => Number.isFinite(each))) {
          expect(error < other || (error === other && half % 2 === 0)).toBe(true);
        }
      }),
    );
  });

  test('what is too large becomes infinite, and what is not a number stays so', () => {
    const source = Float32Array.of(65519, 65520, -1e30, Infinity, NaN);
    expect([...float32ToFloat16(source)]).toEqual([0x7bff, 0x7c00, 0xfc00, 0x7c00, 0x7e00]);
  });
});

test('bfloat16 rounds to the nearest, and on a tie to the even one', () => {
  const source = Float32Array.of(
    1,
    -2.5,
    1 + 2 ** -8,
    1 + 3 * 2 ** -8,
    1 + 2 ** -8 + 2 ** -20,
    NaN,
  );
  const back = new Float32Array(source.length);
  bfloat16ToFloat32(float32ToBfloat16(source), back);
  expect([...back]).toEqual([1, -2.5, 1, 1 + 2 ** -6, 1 + 2 ** -7, NaN]);
  expect([...float32ToBfloat16(Float32Array.of(3.4e38, -Infinity))]).toEqual([0x7f80, 0xff80]);
});
