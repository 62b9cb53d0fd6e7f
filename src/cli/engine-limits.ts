import type { DecoderConfig } from '../model/config.ts';
import { UsageError } from './errors.ts';
import type { Options } from './options.ts';

export interface EngineLimits {
  readonly maxNumSeqs: number;
  readonly maxModelLen: number;
  readonly maxNumBatchedTokens: number;
}

/** Large enough for efficient matrix products, small enough that decoding streams keep flowing. */
const DEFAULT_BATCHED_TOKENS = 512;

/**
 * Fits the flags to each other and to the model.
 * @throws UsageError naming the flag and both numbers
 */
export function engineLimits(
  options: Options<'maxNumSeqs' | 'maxModelLen' | 'maxNumBatchedTokens'>,
  { maxPositionEmbeddings }: DecoderConfig,
): EngineLimits {
  const { maxNumSeqs, maxModelLen = maxPositionEmbeddings } = options;
  if (maxModelLen > maxPositionEmbeddings) {
    throw new UsageError(
      `--max-model-len ${maxModelLen} is past what the model reaches: ${maxPositionEmbeddings} positions`,
    );
  }
  const { maxNumBatchedTokens = Math.max(DEFAULT_BATCHED_TOKENS, maxNumSeqs) } = options;
  if (maxNumBatchedTokens < maxNumSeqs) {
    throw new UsageError(
      `--max-num-batched-tokens ${maxNumBatchedTokens} is below --max-num-seqs ${maxNumSeqs}: ` +
        'every running sequence computes a token per iteration',
    );
  }
  return { maxNumSeqs, maxModelLen, maxNumBatchedTokens };
}
