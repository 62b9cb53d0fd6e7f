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
export const THREE_DIGITS = String.raw`\p{N}{1,3}`;
const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const SPACES = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;

/**
 * The pattern of cl100k.
 * @param letters class of what words are made of
 */
export const words = (digits: string, letters = String.raw`\p{L}`): string =>
  `${CONTRACTIONS}|${String.raw`[^\r\n\p{L}\p{N}]?`}[${letters}]+|${digits}|` +
  ` ?[^${String.raw`\s`}${letters}${String.raw`\p{N}]+[\r\n]*`}|${SPACES}`;

const UPPER = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const LOWER = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;

/** The pattern of o200k, which also cuts where small letters turn to capitals. */
const casedWords = (
  contractions: string,
  digits: string,
  { upper, lower, ends } = { upper: UPPER, lower: LOWER, ends: String.raw`[\r\n/]` },
): string => {
  const before = String.raw`[^\r\n\p{L}\p{N}]?`;
  return (
    `${before}${upper}*${lower}+${contractions}|${before}${upper}+${lower}*${contractions}|` +
    `${digits}|${String.raw` ?[^\s\p{L}\p{N}]+`}${ends}*|${SPACES}`
  );
};

/** The last pattern of DeepSeek V3 and its like: punctuation begins words of letters. */
const PUNCTUATED_WORDS =
  String.raw`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_\x60{|}~][A-Za-z]+|` +
  String.raw`[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|` +
  SPACES;

/** Letters of scripts with capitals, as DeepSeek's first models list them. */
const CASED_LETTERS =
  'A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώ' +
  'ᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏' +
  '𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃';
const HAN_AND_HANGUL = String.raw`[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+`;
const HAN_AND_KANA = String.raw`[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+`;

export const patterned = (...patterns: readonly string[]): PreTokenizer => ({
  steps: [...patterns.map(split), BYTES],
  normalizer: null,
  ignoreMerges: false,
  addsBos: false,
});
export const GPT2 = patterned(GPT2_WORDS);
// Each digit by itself, and each other number.
export const SINGLE_DIGITS = patterned(String.raw`\p{N}`, GPT2_WORDS);
export const CL100K = patterned(words(THREE_DIGITS));
export const LLAMA3: PreTokenizer = { ...CL100K, ignoreMerges: true, addsBos: true };
const NFC = { type: 'NFC' };
export const QWEN2: PreTokenizer = { ...patterned(words(String.raw`\p{N}`)), normalizer: NFC };
export const QWEN35: PreTokenizer = {
  ...patterned(words(String.raw`\p{N}`, String.raw`\p{L}\p{M}`)),
  normalizer: NFC,
};
export const TEKKEN: PreTokenizer = {
  ...patterned(casedWords('', String.raw`\p{N}`)),
  ignoreMerges: true,
  addsBos: true,
};
export const O200K = patterned(casedWords(`${CONTRACTIONS}?`, THREE_DIGITS));
export const DEEPSEEK_LLM = patterned(
  String.raw`[\r\n]`,
  String.raw`\s?[${CASED_LETTERS}]+`,
  String.raw`\s?[!-/:-~！-／：-～‘-‟\u3000-。]+`,
  // Only from the first space on: each of many would be tried, to the last.
  String.raw`(?<!\s)\s+$`,
  HAN_AND_HANGUL,
  String.raw`\p{N}`,
);
export const DEEPSEEK_CODER = patterned(
  String.raw`[\r\n]`,
  String.raw`\s?\p{L}+`,
  String.raw`\s?\p{P}+`,
  HAN_AND_HANGUL,
  String.raw`\p{N}`,
);
export const DEEPSEEK_V3 = patterned(THREE_DIGITS, HAN_AND_KANA, PUNCTUATED_WORDS);
export const EXAONE_MOE = patterned(
  `${CONTRACTIONS}|` +
    String.raw`[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|` +
    String.raw`\s*[\r\n]|\s+(?!\S)|\s+`,
);
export const SEED = patterned(
  `${CONTRACTIONS}|` + String.raw`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|${SPACES}`,
);
/** Runs of Hangul, of punctuation that is as wide, of Bopomofo, and of Han and Kana come first. */
export const YOUTU: PreTokenizer = {
  ...patterned(
    String.raw`[\uac00-\ud7a3\u3131-\u318e]+|` +
      String.raw`[\uff01\u2026“”‘’\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+|` +
      String.raw`[\u3105-\u312f]+|${HAN_AND_KANA}`,
    casedWords(`${CONTRACTIONS}?`, String.raw`\p{N}`),
  ),
  ignoreMerges: true,
};
/** Words as bytes before numbers are cut out. */
export const FALCON: PreTokenizer = {
  ...GPT2,
  steps: [
    { type: 'Punctuation', behavior: 'Contiguous' },
    ...GPT2.steps,
    { type: 'Digits', individual_digits: false },
    split('[0-9][0-9][0-9]'),
  ],
};
const NO_HAN = String.raw`(?!\p{Script=Han})`;
export const KIMI_K2 = patterned(
  String.raw`\p{Script=Han}+|` +
    casedWords(`${CONTRACTIONS}?`, THREE_DIGITS, {
      upper: `(?:${NO_HAN}${UPPER})`,
      lower: `(?:${NO_HAN}${LOWER})`,
      ends: String.raw`[\r\n]`,
    }),
);
