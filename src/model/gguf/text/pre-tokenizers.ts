import { ModelError } from '../../model-error.ts';
import {
  CL100K,
  DEEPSEEK_CODER,
  DEEPSEEK_LLM,
  DEEPSEEK_V3,
  EXAONE_MOE,
  FALCON,
  GPT2,
  KIMI_K2,
  LLAMA3,
  O200K,
  QWEN2,
  QWEN35,
  SEED,
  SINGLE_DIGITS,
  TEKKEN,
  THREE_DIGITS,
  YOUTU,
  patterned,
  words,
  type PreTokenizer,
} from '../../tokenizer/pre-tokenizers.ts';

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
  [
    QWEN2,
    [
      'qwen2',
      'deepseek-r1-qwen',
      'megrez',
      'kormo',
      'stablelm2',
      'hunyuan',
      // In other words: Ling's pattern matches the same.
      'bailingmoe',
      'bailingmoe2',
      'llada-moe',
    ],
  ],
  [QWEN35, ['qwen35']],
  [TEKKEN, ['tekken']],
  [O200K, ['gpt-4o', 'llama4', 'kanana2', 'minimax-m2']],
  [DEEPSEEK_LLM, ['deepseek-llm']],
  [DEEPSEEK_CODER, ['deepseek-coder']],
  [DEEPSEEK_V3, ['deepseek-v3', 'hunyuan-dense', 'joyai-llm', 'hy_v4']],
  [KIMI_K2, ['kimi-k2']],
  [YOUTU, ['youtu']],
  [FALCON, ['falcon']],
  [EXAONE_MOE, ['exaone-moe']],
  [SEED, ['seed-coder']],
  [{ ...patterned(THREE_DIGITS, words(String.raw`\p{N}+`)), ignoreMerges: true }, ['minicpm5']],
];

/** Name that converters write where they know no other. */
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
