/** JSON that is still being written. */

/** A value that has just begun, and says nothing yet. */
const HALF_LITERAL = /(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\d\.|\d[eE][+-]?)$/;

/**
 * Closes what is open at the end of `text`.
 * @returns null where nothing that follows can make JSON of it
 */
export function parsePartialJson(text: string): { readonly value: unknown } | null {
  const open: string[] = [];
  let isString = false;
  /** Up to here it can be closed. */
  let safe = '';
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (isString) {
      if (character === '\\') at++;
      else if (character === '"') isString = false;
      continue;
    }
    if (character === '"') isString = true;
    else if (character === '{') open.push('}');
    else if (character === '[') open.push(']');
    else if (character === '}' || character === ']') {
      if (open.pop() !== character) return null;
    }
  }
  safe = isString ? closeString(text) : text;
  const ends = open.toReversed().join('');
  for (const candidate of candidates(safe.trimEnd(), isString)) {
    try {
      return { value: JSON.parse(candidate + ends) as unknown };
    } catch {
      // The next one leaves more out.
    }
  }
  return text.trim() === '' ? { value: undefined } : null;
}

/** Without an escape that is not whole. */
function closeString(text: string): string {
  const whole = text.replace(/(?<!\\)((?:\\\\)*)\\(?:u[\da-fA-F]{0,3})?$/, '$1');
  return `${whole}"`;
}

/** What is left when what is not whole at its end goes. */
function* candidates(text: string, isString: boolean): Generator<string> {
  yield text;
  if (isString) {
    // A name of a field without its value.
    yield text.replace(/,?\s*"(?:[^"\\]|\\.)*"$/, '');
    return;
  }
  const shorter = text.replace(HALF_LITERAL, (half) => (/^\d/.test(half) ? half.charAt(0) : ''));
  const trimmed = shorter.trimEnd();
  yield trimmed;
  yield trimmed.replace(/,$/, '');
  yield trimmed.replace(/,?\s*"(?:[^"\\]|\\.)*"\s*:?$/, '');
}
