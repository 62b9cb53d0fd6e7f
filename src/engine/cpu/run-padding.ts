import type { DecoderManifest } from '../../model/build/manifest.ts';

/**
 * A token's values must depend on nothing but its text. Two kernels violate that, so runs are filled up
 * with dead tokens. Attention rounds otherwise for a slot with a single token than for several. And
 * matmuls of 4-bit weights take tokens two by two, and round otherwise for one left over.
 */
export interface RunPadding {
  /** A slot's tokens in a prefill or verify run, at least. */
  readonly minWidth: 1 | 2;
  /** Tokens of a run, and logits wanted of it, are even in number. */
  readonly isEven: boolean;
}

/** @param reproducible whether it matters */
export function runPadding({ precision }: DecoderManifest, reproducible: boolean): RunPadding {
  return {
    minWidth: reproducible ? 2 : 1,
    isEven: reproducible && precision === 'int4',
  };
}

/** Whether a run may have so many tokens. */
export function fits(numTokens: number, { isEven }: RunPadding): boolean {
  return !isEven || numTokens % 2 === 0;
}

/**
 * Tokens for each slot of a run: as many as the longest segment has, and one more where that makes the
 * run fit. Mixed with an odd number of decoding slots it may not fit all the same.
 */
export function paddedWidth(
  run: readonly { readonly numTokens: number }[],
  padding: RunPadding,
  numDecoding = 0,
): number {
  const longest = Math.max(padding.minWidth, ...run.map(({ numTokens }) => numTokens));
  const total = numDecoding + run.length * longest;
  return fits(total, padding) || run.length % 2 === 0 ? longest : longest + 1;
}
