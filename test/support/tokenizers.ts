/** Small tokenizers of each decoder family, made up so that tests control every token. */
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';

/** The second holds characters that byte-level vocabularies use for bytes, as DeepSeek's do. */
const SPECIAL = ['<s>', '<｜end▁ofĠtext｜>'];

const SPACE_TO_META = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
const META_TO_SPACE = { type: 'Replace', pattern: { String: '▁' }, content: ' ' };

function vocabOf(tokens: readonly string[]): Record<string, number> {
  return Object.fromEntries(tokens.map((token, id) => [token, id]));
}

function make(tokens: readonly string[], rest: object): TextTokenizer {
  const [bosToken, eosToken] = SPECIAL;
  return new TextTokenizer({
    tokenizer: {
      added_tokens: SPECIAL.map((content, id) => ({ id, content, special: true })),
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      model: { type: 'BPE', vocab: vocabOf(tokens), merges: [] },
      ...rest,
    },
    bosToken,
    eosToken,
  });
}

const WORDS = ['▁', '▁foo', '▁bar', 'baz', '▁▁', 'é', '€', '😀', 'a', 'b', '\u{FFFD}'];

/** As Llama 2 and its kin: bytes for what the vocabulary lacks, one space off the front. */
export function byteFallbackTokenizer(): TextTokenizer {
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
  );
  const tokens = [...SPECIAL, ...bytes, ...WORDS];
  return make(tokens, {
    normalizer: {
      type: 'Sequence',
      normalizers: [{ type: 'Prepend', prepend: '▁' }, SPACE_TO_META],
    },
    model: { type: 'BPE', vocab: vocabOf(tokens), merges: [], byte_fallback: true },
    decoder: {
      type: 'Sequence',
      decoders: [
        META_TO_SPACE,
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
  });
}

export function metaspaceTokenizer(): TextTokenizer {
  return make([...SPECIAL, ...WORDS], {
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true },
    decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true },
  });
}

/** A tokenizer with the given `decoder`, which may be one that is not supported. */
export function tokenizerWithDecoder(decoder: unknown): TextTokenizer {
  return make([...SPECIAL, ...WORDS], { decoder });
}

/** Whole words, with no unknown token for all others. */
export function wordTokenizer(): TextTokenizer {
  return make([], {
    pre_tokenizer: { type: 'WhitespaceSplit' },
    model: { type: 'WordLevel', vocab: vocabOf([...SPECIAL, ...WORDS]) },
    decoder: { type: 'Metaspace', replacement: '▁' },
  });
}

/** ASCII, a token for each character, and special tokens. */
export function asciiTokenizer(special: readonly string[]): TextTokenizer {
  const all = [...SPECIAL, ...special];
  const characters = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at));
  return make([...all, ...characters, '\n'], {
    added_tokens: all.map((content, id) => ({ id, content, special: true })),
    decoder: { type: 'Fuse' },
  });
}
