/** Seeds beyond what a JSON number holds exactly in JavaScript. */

const FIELD = '"seed"';
/** Text after the field's name. No number of more digits is finite. */
const VALUE = /\s*:\s*(-?\d{1,309})\s*[,}]/y;

/**
 * The `seed` of a body as a bigint where JSON.parse has rounded it: 64-bit seeds need more than a
 * double's 53 bits. Its digits are looked up in the body's own text.
 * @param body what `text` was parsed to
 */
export function withExactSeed(body: unknown, text: string): unknown {
  if (typeof body !== 'object' || body === null || !('seed' in body)) return body;
  const { seed } = body;
  if (typeof seed !== 'number' || !Number.isInteger(seed) || Number.isSafeInteger(seed)) {
    return body;
  }
  for (let at = text.indexOf(FIELD); at !== -1; at = text.indexOf(FIELD, at + 1)) {
    if (text[at - 1] === '\\') continue;
    VALUE.lastIndex = at + FIELD.length;
    const digits = VALUE.exec(text)?.[1];
    if (digits !== undefined && Number(digits) === seed) return { ...body, seed: BigInt(digits) };
  }
  return { ...body, seed: BigInt(seed) };
}
