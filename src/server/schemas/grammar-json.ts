import { LIMITS } from '../../limits.ts';

/** What a key or a value counts besides its characters. */
const CHARACTERS_PER_VALUE = 8;

/**
 * What makes a JSON schema too large for a grammar, or null. Looks no further than the limit, so that
 * a schema of any size is refused at once. How deep it may be the reader of the body has seen to.
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
