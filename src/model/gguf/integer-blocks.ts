import { reusedArray } from '../huggingface/reused-array.ts';

/** Content of a tensor's blocks: a weight is (integer - zero) * scale + min, each rounded to float32. */
export interface IntegerBlocks {
  /** From 0 on. */
  readonly integers: Uint8Array<ArrayBuffer>;
  /** One for as many neighbours as the type says, see INTEGER_TYPES. */
  readonly scales: Float32Array;
  /** One for as many neighbours; null in types without. */
  readonly mins: Float32Array | null;
}

/** Arrays for the content of blocks, which the next blocks that are read into it overwrite. */
export class BlockSpace {
  readonly integers = reusedArray((length) => new Uint8Array(length));
  readonly scales = reusedArray((length) => new Float32Array(length));
  readonly mins = reusedArray((length) => new Float32Array(length));
}

/** A type whose blocks are such integers. */
export interface IntegerType {
  /** Integers that share a scale. */
  readonly groupSize: number;
  /** Bits that all integers fit into. */
  readonly bits: 4 | 8;
  /** Integer that stands for 0, but for a minimum. */
  readonly zero: number;
  /** About the middle of its integers: as `zero`, unless there are minimums. */
  readonly middle: number;
  /**
   * @param bytes whole blocks
   * @param space for their content
   */
  readonly read: (bytes: Uint8Array<ArrayBuffer>, space: BlockSpace) => IntegerBlocks;
}

/** Writes the weights that blocks hold, as ggml's reference computes them. */
export function dequantize(
  { integers, scales, mins }: IntegerBlocks,
  { groupSize, zero }: IntegerType,
  target: Float32Array,
): void {
  for (let group = 0; group < scales.length; group++) {
    const scale = scales[group] ?? 0;
    const end = (group + 1) * groupSize;
    if (mins === null) {
      for (let i = group * groupSize; i < end; i++) target[i] = scale * ((integers[i] ?? 0) - zero);
      continue;
    }
    const min = mins[group] ?? 0;
    for (let i = group * groupSize; i < end; i++) {
      target[i] = Math.fround(scale * ((integers[i] ?? 0) - zero)) + min;
    }
  }
}
