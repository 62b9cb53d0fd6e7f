import { expect, test } from 'vitest';

import { bfloat16ToFloat32, float16ToFloat32 } from '../../src/model/float-conversion.ts';

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
