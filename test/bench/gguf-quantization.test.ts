import { describe, expect, it } from 'vitest';
import { quantize, quantizedBytes } from '../../scripts/bench/peers/gguf-quantization.ts';
import { float16ToFloat32 } from '../../src/model/huggingface/float-conversion.ts';

const VALUES = Float32Array.from({ length: 64 }, (_, index) => Math.sin(index * 1.7) * (index + 1));

function scaleAt(bytes: Uint8Array, offset: number): number {
  const scale = new Float32Array(1);
  float16ToFloat32(Uint16Array.of(new DataView(bytes.buffer).getUint16(offset, true)), scale);
  return scale[0] ?? NaN;
}

/** Largest error of a block, in steps of its scale. */
function largestError(block: number, valueAt: (index: number) => number, scale: number): number {
  const errors = Array.from({ length: 32 }, (_, index) =>
    Math.abs(valueAt(index) - (VALUES[block * 32 + index] ?? NaN)),
  );
  return Math.max(...errors) / Math.abs(scale);
}

describe('quantize', () => {
  it.each([0, 1])('keeps block %d of q8_0 within half a step', (block) => {
    const bytes = quantize('q8_0', VALUES);
    const start = block * 34;
    const scale = scaleAt(bytes, start);
    const valueAt = (index: number) => new Int8Array(bytes.buffer)[start + 2 + index]! * scale;
    // The scale itself is rounded to a float16.
    expect(largestError(block, valueAt, scale)).toBeLessThan(0.5 + 127 * 2 ** -11);
  });

  it.each([0, 1])('keeps block %d of q4_0 within a step, the low half first', (block) => {
    const bytes = quantize('q4_0', VALUES);
    const start = block * 18;
    const scale = scaleAt(bytes, start);
    const valueAt = (index: number) => {
      const byte = bytes[start + 2 + (index % 16)]!;
      return ((index < 16 ? byte & 15 : byte >> 4) - 8) * scale;
    };
    // The value opposite the extreme one would need +8, which is cut to +7.
    expect(largestError(block, valueAt, scale)).toBeLessThan(1.01);
  });

  it('has a fixed size, and zeros for zeros', () => {
    expect(quantizedBytes('q8_0', 64)).toBe(68);
    expect(quantizedBytes('q4_0', 64)).toBe(36);
    expect(quantize('q8_0', new Float32Array(32))).toEqual(new Uint8Array(34));
    expect(quantize('q4_0', new Float32Array(32)).slice(2)).toEqual(new Uint8Array(16).fill(0x88));
  });
});
