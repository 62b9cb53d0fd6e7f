import { TEXT_LENGTH } from '../plan.ts';

/** Number of tokens of all texts that activations are calibrated with. */
export const NUM_TOKENS = 8192;
/** Seed of the texts that are written or picked. */
export const SEED = 0;

/** Raised when the same texts give other scales than before. */
const VERSION = 1;

/** The same for two calibrations if and only if their texts are. @param texts what given ones are known by */
export function calibrationKey(texts: string | null): string {
  return JSON.stringify({ VERSION, NUM_TOKENS, TEXT_LENGTH, SEED, texts });
}
