/** ggml's K types: 256 values a block, in parts of 16 or 32 with small scales of their own. */
import { strideHalves } from './stride-halves.ts';

const BLOCK = 256;

/** 16 values share a 4-bit scale and a 4-bit minimum. */
export function dequantizeQ2(bytes: Uint8Array, target: Float32Array): void {
  const blockBytes = 84;
  const scales = strideHalves(bytes, blockBytes, 80);
  const mins = strideHalves(bytes, blockBytes, 82);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const values = start + 16;
    for (let part = 0; part < 16; part++) {
      const packed = bytes[start + part] ?? 0;
      const scale = Math.fround((scales[block] ?? 0) * (packed & 15));
      const min = Math.fround((mins[block] ?? 0) * (packed >> 4));
      const from = values + lowBitsAt(part);
      const shift = lowBitsShift(part);
      const at = block * BLOCK + part * 16;
      for (let i = 0; i < 16; i++) {
        const value = ((bytes[from + i] ?? 0) >> shift) & 3;
        target[at + i] = Math.fround(scale * value) - min;
      }
    }
  }
}

/** 16 values share a 6-bit scale; each value's third bit is apart from the others. */
export function dequantizeQ3(bytes: Uint8Array, target: Float32Array): void {
  const blockBytes = 110;
  const scales = strideHalves(bytes, blockBytes, 108);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const values = start + 32;
    const partScales = values + 64;
    for (let part = 0; part < 16; part++) {
      const low = ((bytes[partScales + (part % 8)] ?? 0) >> (part < 8 ? 0 : 4)) & 15;
      const high = ((bytes[partScales + 8 + (part % 4)] ?? 0) >> (2 * (part >> 2))) & 3;
      const scale = Math.fround((scales[block] ?? 0) * ((low | (high << 4)) - 32));
      const from = values + lowBitsAt(part);
      const shift = lowBitsShift(part);
      const thirdBits = start + (part % 2) * 16;
      const at = block * BLOCK + part * 16;
      for (let i = 0; i < 16; i++) {
        const third = ((bytes[thirdBits + i] ?? 0) >> (part >> 1)) & 1;
        const value = (((bytes[from + i] ?? 0) >> shift) & 3) | (third << 2);
        target[at + i] = scale * (value - 4);
      }
    }
  }
}

/** Where 16 values of 2 bits are: a byte has one value of each of four such pairs of parts. */
function lowBitsAt(part: number): number {
  return (part >> 3) * 32 + (part % 2) * 16;
}

function lowBitsShift(part: number): number {
  return ((part >> 1) % 4) * 2;
}

/** 32 values share a 6-bit scale and a 6-bit minimum. */
export function dequantizeQ4(bytes: Uint8Array, target: Float32Array): void {
  dequantizeParts(bytes, target, { blockBytes: 144, hasFifth: false });
}

/** Likewise; each value's fifth bit is apart from the others. */
export function dequantizeQ5(bytes: Uint8Array, target: Float32Array): void {
  dequantizeParts(bytes, target, { blockBytes: 176, hasFifth: true });
}

function dequantizeParts(
  bytes: Uint8Array,
  target: Float32Array,
  { blockBytes, hasFifth }: { readonly blockBytes: number; readonly hasFifth: boolean },
): void {
  const scales = strideHalves(bytes, blockBytes, 0);
  const mins = strideHalves(bytes, blockBytes, 2);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const fifthBits = start + 16;
    const values = fifthBits + (hasFifth ? 32 : 0);
    for (let part = 0; part < 8; part++) {
      const { scale: partScale, min: partMin } = scaleAndMin(bytes, start + 4, part);
      const scale = Math.fround((scales[block] ?? 0) * partScale);
      const min = Math.fround((mins[block] ?? 0) * partMin);
      const from = values + (part >> 1) * 32;
      const shift = (part % 2) * 4;
      const at = block * BLOCK + part * 32;
      for (let i = 0; i < 32; i++) {
        const fifth = hasFifth ? ((bytes[fifthBits + i] ?? 0) >> part) & 1 : 0;
        const value = (((bytes[from + i] ?? 0) >> shift) & 15) | (fifth << 4);
        target[at + i] = Math.fround(scale * value) - min;
      }
    }
  }
}

/** Eight scales and eight minimums of 6 bits in 12 bytes: the last four have their high bits apart. */
function scaleAndMin(bytes: Uint8Array, start: number, part: number) {
  const at = (index: number): number => bytes[start + index] ?? 0;
  if (part < 4) return { scale: at(part) & 63, min: at(part + 4) & 63 };
  return {
    scale: (at(part + 4) & 15) | ((at(part - 4) >> 6) << 4),
    min: (at(part + 4) >> 4) | ((at(part) >> 6) << 4),
  };
}

/** 16 values share an 8-bit scale; each value's upper two bits are apart from the lower four. */
export function dequantizeQ6(bytes: Uint8Array, target: Float32Array): void {
  const blockBytes = 210;
  const scales = strideHalves(bytes, blockBytes, 208);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const upper = start + 128;
    for (let part = 0; part < 16; part++) {
      const signed = ((bytes[start + 192 + part] ?? 0) << 24) >> 24;
      const scale = Math.fround((scales[block] ?? 0) * signed);
      const half = part >> 3;
      const quarter = (part >> 1) % 4;
      const within = (part % 2) * 16;
      const lowerAt = start + half * 64 + (quarter % 2) * 32 + within;
      const lowerShift = quarter < 2 ? 0 : 4;
      const upperAt = upper + half * 32 + within;
      const at = block * BLOCK + part * 16;
      for (let i = 0; i < 16; i++) {
        const low = ((bytes[lowerAt + i] ?? 0) >> lowerShift) & 15;
        const high = ((bytes[upperAt + i] ?? 0) >> (2 * quarter)) & 3;
        target[at + i] = scale * ((low | (high << 4)) - 32);
      }
    }
  }
}
