import { createHash } from 'node:crypto';
import { tokenizerTexts } from './tokenizer-texts.ts';

const TEXTS = 10_000;
/** Texts that share a hash. */
const GROUP = 20;

/** Hashes of the tokens of 10,000 texts, a short one for 20 of them at a time. */
export function tokenHashes(encode: (text: string) => ArrayLike<number>): string[] {
  const texts = tokenizerTexts(TEXTS);
  return Array.from({ length: TEXTS / GROUP }, (_, group) => {
    const hash = createHash('sha256');
    for (const text of texts.slice(group * GROUP, (group + 1) * GROUP)) {
      hash.update(`${Array.from(encode(text)).join(' ')}\n`);
    }
    return hash.digest('hex').slice(0, 16);
  });
}
