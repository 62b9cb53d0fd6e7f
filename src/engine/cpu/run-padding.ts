import type { DecoderManifest } from '../../model/manifest.ts';

/**
 * A token's values must depend on its text alone. Two kernels violate that, so runs get padding
 * tokens. Attention rounds differently for a slot with one token than for a slot with several.
 * Matmuls with 4-bit weights take tokens in pairs and round differently for one that is left over.
 */
export interface RunPadding {
  /** A slot's tokens in a prefill or verify run, at least. */
  readonly minWidth: 1 | 2;
  /** The number of a run's tokens, and of the logits wanted of it, is even. */
  readonly isEven: boolean;
}

/**
 * Native kernels need none: they round alike whatever is computed together.
 * @param reproducible whether it matters
 */
export function runPadding(
  { precision, kernels }: DecoderManifest,
  reproducible: boolean,
): RunPadding {
  return {
    minWidth: reproducible && kernels !== 'native' ? 2 : 1,
    isEven: reproducible && kernels !== 'native' && precision === 'int4',
  };
}

/** Whether a run may have this many tokens. */
export function fits(numTokens: number, { isEven }: RunPadding): boolean {
  return !isEven || numTokens % 2 === 0;
}

/**
 * Tokens for each slot of a run: as many as the longest segment has, and one more where that
 * makes the run fit. With an odd number of decoding slots in the same run it may still not fit.
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
