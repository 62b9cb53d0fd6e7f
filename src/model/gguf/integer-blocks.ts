/** What the blocks of a tensor hold: a weight is integer * scale + min, each rounded to float32. */
export interface IntegerBlocks {
  readonly integers: Int8Array;
  /** Of as many neighbours as the type says, see INTEGER_TYPES. */
  readonly scales: Float32Array;
  /** Likewise; null in types without. */
  readonly mins: Float32Array | null;
}

/** Writes the weights that blocks hold, as ggml's reference computes them. */
export function dequantize(
  { integers, scales, mins }: IntegerBlocks,
  groupSize: number,
  target: Float32Array,
): void {
  for (const [group, scale] of scales.entries()) {
    const end = (group + 1) * groupSize;
    if (mins === null) {
      for (let i = group * groupSize; i < end; i++) target[i] = scale * (integers[i] ?? 0);
      continue;
    }
    const min = mins[group] ?? 0;
    for (let i = group * groupSize; i < end; i++) {
      target[i] = Math.fround(scale * (integers[i] ?? 0)) + min;
    }
  }
}
