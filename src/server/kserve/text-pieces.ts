/** Elements of a tensor of texts as JSON, piece by piece: a single one may have many megabytes. */

const BYTES_PER_PIECE = 2 ** 16;
/** Bytes that an element counts in addition to its content. */
const BYTES_PER_ELEMENT = 16;

/** Elements as JSON strings, joined by commas; bytes that are no UTF-8 become U+FFFD. */
export function* textPieces(elements: readonly Uint8Array[]): Generator<string, void> {
  let piece = '';
  let bytes = 0;
  for (const [index, element] of elements.entries()) {
    piece += index === 0 ? '"' : ',"';
    bytes += BYTES_PER_ELEMENT;
    // Keeps what is cut in the middle of a character until its rest comes.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    for (let at = 0; at < element.length;) {
      const end = at + BYTES_PER_PIECE - (bytes % BYTES_PER_PIECE);
      const part = element.subarray(at, end);
      piece += inner(decoder.decode(part, { stream: true }));
      bytes += part.length;
      at = end;
      if (bytes < BYTES_PER_PIECE) continue;
      yield piece;
      piece = '';
      bytes = 0;
    }
    piece += `${inner(decoder.decode())}"`;
    if (bytes < BYTES_PER_PIECE) continue;
    yield piece;
    piece = '';
    bytes = 0;
  }
  yield piece;
}

/** A text as it is between the quotes of a JSON string. */
function inner(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
