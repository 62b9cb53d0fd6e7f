import type { DecoderManifest } from '../../model/manifest.ts';

/**
 * What runs must be like so that a token's values depend on nothing but its text: dead tokens fill up
 * the others. Two kernels round otherwise than they do elsewhere: attention for a row with a single
 * token, and products of 4-bit weights, which take tokens two by two, for the one left over.
 */
export interface RunPadding {
  /** A row's tokens in a prefill or verify run, at least. */
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
 * Tokens for each row of a run: as many as the longest has, and one more where that makes the run
 * fit. It may not fit all the same beside an odd number of others.
 */
export function paddedWidth(
  rows: readonly { readonly length: number }[],
  padding: RunPadding,
  numBeside = 0,
): number {
  const longest = Math.max(padding.minWidth, ...rows.map(({ length }) => length));
  const numTokens = numBeside + rows.length * longest;
  return fits(numTokens, padding) || rows.length % 2 === 0 ? longest : longest + 1;
}
