import { createHash } from 'node:crypto';
import type { ModelSource } from '../model/build/model-source.ts';
import type { Step } from './steps/step.ts';

/** Texts as token ids, and where they are from. */
export interface GivenTexts {
  readonly from: string;
  readonly texts: readonly Int32Array[];
}

/** Work that optimize is to do. */
export interface OptimizePlan {
  readonly source: ModelSource;
  /** Hash that identifies the source's weights, see content-hash.ts. */
  readonly identity: string;
  /** Folder with the tokenizer; null for a bare shape. */
  readonly textFolder: string | null;
  readonly steps: readonly Step[];
  readonly seed: number;
  /** To calibrate with; null has the model write its own. */
  readonly calibration: GivenTexts | null;
  /** To measure perplexity with; null has the model write its own. */
  readonly evaluation: GivenTexts | null;
  /** Tokens of either. */
  readonly numTokens: number;
  readonly threads: number;
}

/** Raised when steps give other results than before: what was begun by an older version begins anew. */
const VERSION = 1;

/** Longest stretch of a text that is computed at once, in tokens. */
export const TEXT_LENGTH = 256;

/** The same for two plans if and only if they have the same result. */
export function planKey({
  source,
  identity,
  steps,
  seed,
  calibration,
  evaluation,
  numTokens,
}: OptimizePlan): string {
  const shape = source.kind === 'random' ? source : null;
  const texts = [calibration, evaluation].map((given) => given && textsHash(given.texts));
  const facts = { VERSION, TEXT_LENGTH, shape, identity, steps, seed, texts, numTokens };
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

/** SHA-256 of the texts' token ids, in hex. */
export function textsHash(texts: readonly Int32Array[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text.length}:${text.join(',')}\n`);
  return hash.digest('hex');
}
