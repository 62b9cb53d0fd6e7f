import { ModelError } from '../model-error.ts';

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
const THREE_DIGITS = String.raw`\p{N}{1,3}`;
const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const SPACES = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;

/**
 * The pattern of cl100k.
 * @param letters class of what words are made of
 */
const words = (digits: string, letters = String.raw`\p{L}`): string =>
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

const patterned = (...patterns: readonly string[]): PreTokenizer => ({
  steps: [...patterns.map(split), BYTES],
  normalizer: null,
  ignoreMerges: false,
  addsBos: false,
});
const GPT2 = patterned(GPT2_WORDS);
// Each digit by itself, and each other number.
const SINGLE_DIGITS = patterned(String.raw`\p{N}`, GPT2_WORDS);
const CL100K = patterned(words(THREE_DIGITS));
const LLAMA3: PreTokenizer = { ...CL100K, ignoreMerges: true, addsBos: true };
const NFC = { type: 'NFC' };
const QWEN2: PreTokenizer = { ...patterned(words(String.raw`\p{N}`)), normalizer: NFC };
const QWEN35: PreTokenizer = {
  ...patterned(words(String.raw`\p{N}`, String.raw`\p{L}\p{M}`)),
  normalizer: NFC,
};
const TEKKEN: PreTokenizer = {
  ...patterned(casedWords('', String.raw`\p{N}`)),
  ignoreMerges: true,
  addsBos: true,
};
const O200K = patterned(casedWords(`${CONTRACTIONS}?`, THREE_DIGITS));
const DEEPSEEK_LLM = patterned(
  String.raw`[\r\n]`,
  String.raw`\s?[${CASED_LETTERS}]+`,
  String.raw`\s?[!-/:-~！-／：-～‘-‟\u3000-。]+`,
  // Only from the first space on: each of many would be tried, to the last.
  String.raw`(?<!\s)\s+$`,
  HAN_AND_HANGUL,
  String.raw`\p{N}`,
);
const DEEPSEEK_CODER = patterned(
  String.raw`[\r\n]`,
  String.raw`\s?\p{L}+`,
  String.raw`\s?\p{P}+`,
  HAN_AND_HANGUL,
  String.raw`\p{N}`,
);
const DEEPSEEK_V3 = patterned(THREE_DIGITS, HAN_AND_KANA, PUNCTUATED_WORDS);
const EXAONE_MOE = patterned(
  `${CONTRACTIONS}|` +
    String.raw`[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|` +
    String.raw`\s*[\r\n]|\s+(?!\S)|\s+`,
);
const SEED = patterned(
  `${CONTRACTIONS}|` + String.raw`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|${SPACES}`,
);
/** Words as bytes before numbers are cut out. */
const FALCON: PreTokenizer = {
  ...GPT2,
  steps: [
    { type: 'Punctuation', behavior: 'Contiguous' },
    ...GPT2.steps,
    { type: 'Digits', individual_digits: false },
    split('[0-9][0-9][0-9]'),
  ],
};
const NO_HAN = String.raw`(?!\p{Script=Han})`;
const KIMI_K2 = patterned(
  String.raw`\p{Script=Han}+|` +
    casedWords(`${CONTRACTIONS}?`, THREE_DIGITS, {
      upper: `(?:${NO_HAN}${UPPER})`,
      lower: `(?:${NO_HAN}${LOWER})`,
      ends: String.raw`[\r\n]`,
    }),
);

/** Ways to cut texts, each with the names that files have for it. */
const TABLE: readonly (readonly [PreTokenizer, readonly string[]])[] = [
  [
    GPT2,
    [
      'gpt-2',
      'mpt',
      'olmo',
      'jais',
      'trillion',
      'granite-docling',
      'phi-2',
      'exaone4',
      'gigachat',
      'a.x-4.0',
      'mellum',
    ],
  ],
  [
    SINGLE_DIGITS,
    ['smollm', 'starcoder', 'refact', 'command-r', 'codeshell', 'exaone', 'minerva-7b', 'mellum2'],
  ],
  [
    LLAMA3,
    ['llama-bpe', 'llama3', 'llama-v3', 'falcon3', 'falcon-h1', 'pixtral', 'lfm2', 'midm-2.0'],
  ],
  [CL100K, ['dbrx', 'smaug-bpe', 'chatglm-bpe']],
  [{ ...CL100K, ignoreMerges: true }, ['glm4', 'glm5']],
  [QWEN2, ['qwen2', 'deepseek-r1-qwen', 'megrez', 'kormo', 'stablelm2', 'hunyuan']],
  [QWEN35, ['qwen35']],
  [TEKKEN, ['tekken']],
  [O200K, ['gpt-4o', 'llama4', 'kanana2', 'minimax-m2']],
  [DEEPSEEK_LLM, ['deepseek-llm']],
  [DEEPSEEK_CODER, ['deepseek-coder']],
  [DEEPSEEK_V3, ['deepseek-v3', 'hunyuan-dense', 'joyai-llm', 'hy_v4']],
  [KIMI_K2, ['kimi-k2']],
  [FALCON, ['falcon']],
  [EXAONE_MOE, ['exaone-moe']],
  [SEED, ['seed-coder']],
  [{ ...patterned(THREE_DIGITS, words(String.raw`\p{N}+`)), ignoreMerges: true }, ['minicpm5']],
];

/** What converters write that know no other name. */
const DEFAULT = 'default';

/** By `tokenizer.ggml.pre`: patterns of the models' own tokenizer.json, names as llama.cpp gives them. */
const PRE_TOKENIZERS: ReadonlyMap<string, PreTokenizer> = new Map(
  TABLE.flatMap(([way, names]) => names.map((name) => [name, way] as const)),
);

/**
 * @param name `tokenizer.ggml.pre`
 * @throws {ModelError} naming it, if it is not known: any other would make wrong tokens of some texts
 */
export function preTokenizer(name: string | undefined, path: string): PreTokenizer {
  const found = name === undefined ? undefined : PRE_TOKENIZERS.get(name);
  if (found !== undefined) return found;
  if (name === undefined || name === DEFAULT) {
    const what = name === undefined ? 'is missing' : `is "${name}"`;
    throw new ModelError(
      `${path}: tokenizer.ggml.pre ${what}, as old converters, and Ollama's, write files of which they do not ` +
        'know how texts are cut: take another file of the model',
    );
  }
  throw new ModelError(
    `${path}: tokenizer.ggml.pre "${name}" is not supported (supported: ${[...PRE_TOKENIZERS.keys()].join(', ')})`,
  );
}
