import type { IntegerBlocks } from './integer-blocks.ts';
import { strideHalves } from './stride-halves.ts';

/** Values of a block, in all types here. */
const BLOCK = 256;

/** 16 values share a 4-bit scale and a 4-bit minimum. */
export function integersOfQ2(bytes: Uint8Array): IntegerBlocks {
  const blockBytes = 84;
  const scales = strideHalves(bytes, blockBytes, 80);
  const mins = strideHalves(bytes, blockBytes, 82);
  const parts = new Parts(scales.length, 16);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const values = start + 16;
    for (let part = 0; part < 16; part++) {
      const packed = bytes[start + part] ?? 0;
      parts.scale(block, part, (scales[block] ?? 0) * (packed & 15));
      parts.min(block, part, (mins[block] ?? 0) * (packed >> 4));
      const from = values + lowBitsAt(part);
      const shift = lowBitsShift(part);
      const at = block * BLOCK + part * 16;
      for (let i = 0; i < 16; i++) {
        parts.integers[at + i] = ((bytes[from + i] ?? 0) >> shift) & 3;
      }
    }
  }
  return parts;
}

/** 16 values share a 6-bit scale; each value's third bit is apart from the others. */
export function integersOfQ3(bytes: Uint8Array): IntegerBlocks {
  const blockBytes = 110;
  const scales = strideHalves(bytes, blockBytes, 108);
  const parts = new Parts(scales.length, 16);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const values = start + 32;
    const partScales = values + 64;
    for (let part = 0; part < 16; part++) {
      const low = ((bytes[partScales + (part % 8)] ?? 0) >> (part < 8 ? 0 : 4)) & 15;
      const high = ((bytes[partScales + 8 + (part % 4)] ?? 0) >> (2 * (part >> 2))) & 3;
      parts.scale(block, part, (scales[block] ?? 0) * ((low | (high << 4)) - 32));
      const from = values + lowBitsAt(part);
      const shift = lowBitsShift(part);
      const thirdBits = start + (part % 2) * 16;
      const at = block * BLOCK + part * 16;
      for (let i = 0; i < 16; i++) {
        const third = ((bytes[thirdBits + i] ?? 0) >> (part >> 1)) & 1;
        parts.integers[at + i] = ((((bytes[from + i] ?? 0) >> shift) & 3) | (third << 2)) - 4;
      }
    }
  }
  return parts;
}

/** Where 16 values of 2 bits are: a byte has one value of each of four such pairs of parts. */
function lowBitsAt(part: number): number {
  return (part >> 3) * 32 + (part % 2) * 16;
}

function lowBitsShift(part: number): number {
  return ((part >> 1) % 4) * 2;
}

/** 32 values share a 6-bit scale and a 6-bit minimum. */
export function integersOfQ4(bytes: Uint8Array): IntegerBlocks {
  return integersOfParts(bytes, { blockBytes: 144, hasFifth: false });
}

/** Blocks as in Q4; each value's fifth bit is apart from the others. */
export function integersOfQ5(bytes: Uint8Array): IntegerBlocks {
  return integersOfParts(bytes, { blockBytes: 176, hasFifth: true });
}

function integersOfParts(
  bytes: Uint8Array,
  { blockBytes, hasFifth }: { readonly blockBytes: number; readonly hasFifth: boolean },
): IntegerBlocks {
  const scales = strideHalves(bytes, blockBytes, 0);
  const mins = strideHalves(bytes, blockBytes, 2);
  const parts = new Parts(scales.length, 32);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const fifthBits = start + 16;
    const values = fifthBits + (hasFifth ? 32 : 0);
    for (let part = 0; part < 8; part++) {
      const { scale, min } = scaleAndMin(bytes, start + 4, part);
      parts.scale(block, part, (scales[block] ?? 0) * scale);
      parts.min(block, part, (mins[block] ?? 0) * min);
      const from = values + (part >> 1) * 32;
      const shift = (part % 2) * 4;
      const at = block * BLOCK + part * 32;
      for (let i = 0; i < 32; i++) {
        const fifth = hasFifth ? ((bytes[fifthBits + i] ?? 0) >> part) & 1 : 0;
        parts.integers[at + i] = (((bytes[from + i] ?? 0) >> shift) & 15) | (fifth << 4);
      }
    }
  }
  return parts;
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
export function integersOfQ6(bytes: Uint8Array): IntegerBlocks {
  const blockBytes = 210;
  const scales = strideHalves(bytes, blockBytes, 208);
  const parts = new Parts(scales.length, 16);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const upper = start + 128;
    for (let part = 0; part < 16; part++) {
      const signed = ((bytes[start + 192 + part] ?? 0) << 24) >> 24;
      parts.scale(block, part, (scales[block] ?? 0) * signed);
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
        parts.integers[at + i] = (low | (high << 4)) - 32;
      }
    }
  }
  return parts;
}

/** Blocks of parts that have scales of their own. */
class Parts implements IntegerBlocks {
  readonly integers: Int8Array;
  readonly scales: Float32Array;
  #mins: Float32Array | null = null;
  readonly #perBlock: number;

  constructor(numBlocks: number, partSize: number) {
    this.#perBlock = BLOCK / partSize;
    this.integers = new Int8Array(numBlocks * BLOCK);
    this.scales = new Float32Array(numBlocks * this.#perBlock);
  }

  get mins(): Float32Array | null {
    return this.#mins;
  }

  scale(block: number, part: number, scale: number): void {
    this.scales[block * this.#perBlock + part] = scale;
  }

  /** @param amount that is taken off */
  min(block: number, part: number, amount: number): void {
    this.#mins ??= new Float32Array(this.scales.length);
    this.#mins[block * this.#perBlock + part] = -amount;
  }
}
