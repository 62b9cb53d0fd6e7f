import { createHash } from 'node:crypto';
import { isEmbedding } from '../prompt-embeddings.ts';

/** Tokens of a block of the tier: what is saved, found and loaded as a whole. */
export const TIER_BLOCK = 64;

/** Tokens of a block of a text, and the name that nothing else has. */
export interface BlockKey {
  readonly name: string;
  readonly tokenIds: Int32Array;
}

/**
 * Names of a text's full blocks, up to its first image. Each is a SHA-256 of the model, the salt and all
 * tokens up to the block's end: the 53 bits that slots are found by would not do where another key's
 * text can't be compared.
 * @param model what computes these keys and values, to the bit
 */
export function blockKeys(model: string, salt: string, tokenIds: Int32Array): BlockKey[] {
  const firstImage = tokenIds.findIndex(isEmbedding);
  const length = firstImage === -1 ? tokenIds.length : firstImage;
  let name = digest(JSON.stringify([model, salt]));
  return Array.from({ length: Math.floor(length / TIER_BLOCK) }, (_, block) => {
    const own = tokenIds.slice(block * TIER_BLOCK, (block + 1) * TIER_BLOCK);
    name = digest(name, new Uint8Array(own.buffer));
    return { name, tokenIds: own };
  });
}

function digest(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}
