/** How models mark what is to be filled in: a table, from tokens of a vocabulary to their order. */

interface Marks {
  readonly prefix: string;
  readonly suffix: string;
  /** Null where the middle follows the prefix. */
  readonly middle: string | null;
  readonly isSuffixFirst: boolean;
  /** Before a repository's name and a file's, where the model knows such. */
  readonly repository?: string;
  readonly file?: string;
  /** Further ones that no middle has. */
  readonly others: readonly string[];
}

const PREFIX_FIRST = { isSuffixFirst: false, others: [] };
const SUFFIX_FIRST = { isSuffixFirst: true, others: [] };

/** The first is taken whose three tokens a vocabulary has. */
const ALL_MARKS: readonly Marks[] = [
  {
    // Qwen2.5-Coder (its README, and https://arxiv.org/abs/2409.12186 for several files), Qwen3-Coder,
    // CodeGemma (its model card) and Granite 4.
    ...PREFIX_FIRST,
    prefix: '<|fim_prefix|>',
    suffix: '<|fim_suffix|>',
    middle: '<|fim_middle|>',
    repository: '<|repo_name|>',
    file: '<|file_sep|>',
    others: ['<|fim_pad|>', '<|file_separator|>', '<|filename|>', '<|reponame|>', '<|endoftext|>'],
  },
  {
    // StarCoder2 (https://arxiv.org/abs/2402.19173), StarCoder and Granite Code.
    ...PREFIX_FIRST,
    prefix: '<fim_prefix>',
    suffix: '<fim_suffix>',
    middle: '<fim_middle>',
    repository: '<repo_name>',
    file: '<file_sep>',
    others: ['<fim_pad>', '<filename>', '<reponame>', '<|endoftext|>'],
  },
  {
    // DeepSeek-Coder and DeepSeek-Coder-V2-Lite (their READMEs).
    ...PREFIX_FIRST,
    prefix: '<｜fim▁begin｜>',
    suffix: '<｜fim▁hole｜>',
    middle: '<｜fim▁end｜>',
  },
  {
    // Seed-Coder (https://arxiv.org/abs/2506.03524).
    ...SUFFIX_FIRST,
    prefix: '<[fim-prefix]>',
    suffix: '<[fim-suffix]>',
    middle: '<[fim-middle]>',
  },
  {
    // Codestral (`encode_fim` of mistral-common).
    ...SUFFIX_FIRST,
    prefix: '[PREFIX]',
    suffix: '[SUFFIX]',
    middle: null,
  },
];

/** Texts of special tokens, around what is before and after the place. */
export interface InfillFormat {
  readonly before: string;
  readonly between: string;
  readonly after: string;
  readonly isSuffixFirst: boolean;
  readonly repository: string | null;
  readonly file: string | null;
  /** All that the model has of them. */
  readonly tokens: ReadonlySet<string>;
}

/**
 * @param vocabulary texts of the tokens that a model has beside its words
 * @returns null for a model that was not trained for it
 */
export function infillFormatOf(vocabulary: ReadonlySet<string>): InfillFormat | null {
  const found = ALL_MARKS.find(({ prefix, suffix, middle }) =>
    [prefix, suffix, middle].every((token) => token === null || vocabulary.has(token)),
  );
  if (found === undefined) return null;
  const { prefix, suffix, middle, isSuffixFirst, repository = '', file = '', others } = found;
  const [before, between] = isSuffixFirst ? [suffix, prefix] : [prefix, suffix];
  const all = [prefix, suffix, middle ?? '', repository, file, ...others];
  return {
    before,
    between,
    after: middle ?? '',
    isSuffixFirst,
    repository: vocabulary.has(repository) ? repository : null,
    file: vocabulary.has(file) ? file : null,
    tokens: new Set(all.filter((token) => vocabulary.has(token))),
  };
}
