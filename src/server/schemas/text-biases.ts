/** `logit_bias` as llama-server has it. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';

/** A token id, or a text whose tokens are meant, and what is added to their logits: `false` is never. */
export type TextBias = readonly [of: number | string, bias: number | false];

const EXPECTED = `expected up to ${LIMITS.logitBiases} pairs of a token id or a text and a number or false`;

function isBias(value: unknown): value is TextBias {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [of, bias]: readonly unknown[] = value;
  const isToken = typeof of === 'string' ? of !== '' : Number.isSafeInteger(of) && Number(of) >= 0;
  return isToken && (typeof bias === 'number' || bias === false);
}

/** Names of an object are token ids where they are digits, else texts. */
function pairsOf(value: object): unknown[] {
  if (Array.isArray(value)) return value;
  return Object.entries(value).map(([name, bias]) => [
    /^\d+$/.test(name) ? Number(name) : name,
    bias,
  ]);
}

/** A list of pairs, or an object; the number of entries is looked at first, then texts' lengths. */
export const textBiases = z.unknown().transform((value, context): readonly TextBias[] => {
  const isThere = value !== null && value !== undefined;
  const pairs = typeof value === 'object' && isThere ? pairsOf(value) : isThere ? null : [];
  if (pairs === null || pairs.length > LIMITS.logitBiases || !pairs.every(isBias)) {
    context.addIssue({ code: 'custom', message: EXPECTED });
    return z.NEVER;
  }
  const texts = pairs.flatMap(([of]) => (typeof of === 'string' ? [of] : []));
  const numCharacters = texts.reduce((sum, text) => sum + text.length, 0);
  if (texts.length > LIMITS.badWords || numCharacters > LIMITS.badWordsCharacters) {
    const message = `expected up to ${LIMITS.badWords} texts, of ${LIMITS.badWordsCharacters} characters in all`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }
  return pairs;
});
