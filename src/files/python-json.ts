/** Strings, and the numbers of Python's json that JSON does not have. */
const STRINGS_AND_OTHER_NUMBERS = /"(?:[^"\\]+|\\[^])*"?|-?Infinity|NaN/g;

/**
 * Parses JSON as Python writes it: `Infinity` and `NaN`, by which configurations say that there is no limit,
 * become null.
 * @throws SyntaxError
 */
export function parsePythonJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!/Infinity|NaN/.test(text)) throw error;
    const plain = (found: string) => (found.startsWith('"') ? found : 'null');
    return JSON.parse(text.replace(STRINGS_AND_OTHER_NUMBERS, plain));
  }
}
