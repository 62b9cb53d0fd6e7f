import { TextTokenizer } from './tokenizer.ts';

const NUM_BYTES = 256;

/**
 * A tokenizer for a shape with random weights: one token per byte, and made-up words for the rest
 * of the vocabulary, so that text is handled as usual by the server.
 */
export function placeholderTokenizer(vocabSize: number): TextTokenizer {
  const vocab = Object.fromEntries(
    Array.from({ length: vocabSize }, (_, id) => [id < NUM_BYTES ? byteToken(id) : `Ġ${id}`, id]),
  );
  return new TextTokenizer({
    tokenizer: {
      model: { type: 'BPE', vocab, merges: [] },
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
      decoder: { type: 'ByteLevel' },
      added_tokens: [],
    },
  });
}

/** The character that stands for a byte in byte-level vocabularies (GPT-2's `bytes_to_unicode`). */
function byteToken(byte: number): string {
  if (isPrintable(byte)) return String.fromCodePoint(byte);
  let rank = 0;
  for (let other = 0; other < byte; other++) if (!isPrintable(other)) rank++;
  return String.fromCodePoint(NUM_BYTES + rank);
}

function isPrintable(byte: number): boolean {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}
