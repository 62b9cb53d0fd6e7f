import { LIMITS } from '../limits.ts';

/** Cost of a key or a value in addition to its characters. */
const CHARACTERS_PER_VALUE = 8;

/**
 * Reason why a JSON schema is too large for a grammar, or null. Stops at the limit, so that a schema of
 * any size is rejected at once. Its depth was checked while the body was read.
 */
export function grammarJsonFault(schema: unknown): string | null {
  let left: number = LIMITS.grammarCharacters;
  let level: unknown[] = [schema];
  while (level.length > 0) {
    const next: unknown[] = [];
    for (const value of level) {
      left -= CHARACTERS_PER_VALUE;
      if (typeof value === 'string') left -= value.length;
      if (typeof value === 'object' && value !== null) {
        for (const key in value) {
          left -= key.length;
          next.push((value as Readonly<Record<string, unknown>>)[key]);
          if (left - next.length * CHARACTERS_PER_VALUE < 0) return TOO_LARGE;
        }
      }
      if (left < 0) return TOO_LARGE;
    }
    level = next;
  }
  return null;
}

const TOO_LARGE = `JSON schemas of more than ${LIMITS.grammarCharacters} characters are not supported`;
