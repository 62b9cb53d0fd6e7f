/** Texts that others chose, on their way into an error message, a header, a log or a terminal. */

/** C0, DEL and C1: a terminal obeys them, gRPC and HTTP refuse them. */
const CONTROL = /\p{Cc}/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * The one way by which such a text is cut: never between the halves of a character, of which encoders
 * throw (encodeURI, for gRPC's trailers), and with control characters spelled out.
 * @param max characters (UTF-16 units) of what is returned
 */
export function told(text: string, max: number): string {
  // Cut twice: a long text is not looked at as a whole, and an escape takes more than it stands for.
  return cut(cut(text, max).toWellFormed().replace(CONTROL, escapeOf), max);
}

function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const isInPair = /^[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(
    text.slice(Math.max(0, max - 1), max + 1),
  );
  return text.slice(0, isInPair ? max - 1 : max);
}

function escapeOf(character: string): string {
  const code = character.charCodeAt(0).toString(16).padStart(4, '0');
  return SHORT[character] ?? `\\u${code}`;
}
