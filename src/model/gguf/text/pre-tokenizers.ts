import { ModelError } from '../../model-error.ts';

/** How a text is cut into words before pairs are merged, and what goes with it. */
export interface PreTokenizer {
  /** Patterns, one after the other: what they match and what is between are words. */
  readonly steps: readonly unknown[];
  readonly normalizer: unknown;
  /** A word that is a token stays whole, whatever the merges say. */
  readonly ignoreMerges: boolean;
  /** Whether texts begin with the begin token, if the file does not say. */
  readonly addsBos: boolean;
}

const split = (pattern: string): unknown => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});

/** From here on words are bytes, written as letters. */
const BYTES = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };

/**
 * As ByteLevel's own pattern, which the library takes with JavaScript's idea of a space: the byte
 * order mark is none.
 */
const GPT2_WORDS = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const SPACES = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;

/** The pattern of cl100k, with digits in groups. */
const words = (digits: string): string =>
  `${CONTRACTIONS}|${String.raw`[^\r\n\p{L}\p{N}]?\p{L}+`}|${digits}|` +
  `${String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*`}|${SPACES}`;

/** The pattern of o200k, which also cuts where small letters turn to capitals. */
const casedWords = (contractions: string, digits: string): string => {
  const upper = String.raw`\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}`;
  const lower = String.raw`\p{Ll}\p{Lm}\p{Lo}\p{M}`;
  const before = String.raw`[^\r\n\p{L}\p{N}]?`;
  return (
    `${before}[${upper}]*[${lower}]+${contractions}|${before}[${upper}]+[${lower}]*${contractions}|` +
    `${digits}|${String.raw` ?[^\s\p{L}\p{N}]+[\r\n/]*`}|${SPACES}`
  );
};

const patterned = (...patterns: readonly string[]): PreTokenizer => ({
  steps: [...patterns.map(split), BYTES],
  normalizer: null,
  ignoreMerges: false,
  addsBos: false,
});
const GPT2 = patterned(GPT2_WORDS);
// Each digit by itself, and each other number.
const SINGLE_DIGITS = patterned(String.raw`\p{N}`, GPT2_WORDS);
const CL100K = patterned(words(String.raw`\p{N}{1,3}`));
const LLAMA3: PreTokenizer = { ...CL100K, ignoreMerges: true, addsBos: true };
const QWEN2: PreTokenizer = {
  ...patterned(words(String.raw`\p{N}`)),
  normalizer: { type: 'NFC' },
};
const TEKKEN: PreTokenizer = {
  ...patterned(casedWords('', String.raw`\p{N}`)),
  ignoreMerges: true,
  addsBos: true,
};
const O200K = patterned(casedWords(`${CONTRACTIONS}?`, String.raw`\p{N}{1,3}`));

/** By `tokenizer.ggml.pre`. */
const PRE_TOKENIZERS: ReadonlyMap<string, PreTokenizer> = new Map([
  ...['gpt-2', 'mpt', 'olmo', 'jais', 'trillion', 'granite-docling'].map(
    (name) => [name, GPT2] as const,
  ),
  ...['smollm', 'starcoder', 'refact', 'command-r', 'codeshell', 'exaone', 'minerva-7b'].map(
    (name) => [name, SINGLE_DIGITS] as const,
  ),
  ...['llama-bpe', 'llama3', 'llama-v3', 'falcon3', 'pixtral'].map(
    (name) => [name, LLAMA3] as const,
  ),
  ...['dbrx', 'smaug-bpe'].map((name) => [name, CL100K] as const),
  ...['qwen2', 'deepseek-r1-qwen'].map((name) => [name, QWEN2] as const),
  ['tekken', TEKKEN],
  ...['gpt-4o', 'llama4'].map((name) => [name, O200K] as const),
]);

/**
 * @param name `tokenizer.ggml.pre`
 * @throws {ModelError} naming it, if it is not known: any other would make wrong tokens of some texts
 */
export function preTokenizer(name: string | undefined, path: string): PreTokenizer {
  const found = name === undefined ? undefined : PRE_TOKENIZERS.get(name);
  if (found !== undefined) return found;
  const what = name === undefined ? 'is missing' : `"${name}" is not supported`;
  throw new ModelError(
    `${path}: tokenizer.ggml.pre ${what} (supported: ${[...PRE_TOKENIZERS.keys()].join(', ')})`,
  );
}
