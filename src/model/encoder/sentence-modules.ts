/** Parts of a sentence-transformers folder beyond its transformer: pooling, dense layers, prompts. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';

import { joinUntrusted } from '../../files/untrusted-path.ts';
import { ModelError } from '../model-error.ts';
import { readJson } from '../huggingface/json-file.ts';
import { SINGLE_FILE } from '../huggingface/safetensors.ts';
import {
  type LateInteraction,
  pylateInteraction,
  pylateShape,
  readStanford,
} from './late-interaction.ts';

/** How the vectors of a text's tokens become one. */
export type Pooling = 'mean' | 'mean_sqrt_len' | 'cls' | 'last' | 'max';

/** A linear layer after pooling. */
export interface DenseLayer {
  /** Absolute path of its weights, `linear.weight` and `linear.bias`. */
  readonly file: string;
  readonly inFeatures: number;
  readonly outFeatures: number;
  readonly bias: boolean;
  readonly activation: 'identity' | 'tanh' | 'relu' | 'gelu';
}

/** How well two texts match is the first one's logit, less the second one's if there is one. */
export interface LogitScore {
  readonly trueTokenId: number;
  readonly falseTokenId: number | null;
}

export interface SentenceModules {
  /** Several lie side by side in the vector. */
  readonly pooling: readonly Pooling[];
  readonly dense: readonly DenseLayer[];
  readonly normalize: boolean;
  /** Tokens whose logits after a pair of texts are its score; null where a model has other scores. */
  readonly logitScore: LogitScore | null;
  /** Whether the model gives weights of words in place of a vector. */
  readonly isSparse: boolean;
  /** Set where the vectors of tokens are the output, after `dense` and `normalize`; null where they become one. */
  readonly late: LateInteraction | null;
  /** Longest text in tokens, null if it does not say. */
  readonly maxTokens: number | null;
  /** Texts that come before an input, by what it is. */
  readonly prompts: Readonly<Record<string, string>>;
  readonly defaultPromptName: string | null;
  /** To how many dimensions vectors may be cut; null for models that are not made for that. */
  readonly matryoshkaDimensions: 'any' | readonly number[] | null;
}

const modulesSchema = z.array(z.looseObject({ path: z.string(), type: z.string() }));

const poolingSchema = z.looseObject({
  pooling_mode_cls_token: z.boolean().default(false),
  pooling_mode_mean_tokens: z.boolean().default(false),
  pooling_mode_max_tokens: z.boolean().default(false),
  pooling_mode_mean_sqrt_len_tokens: z.boolean().default(false),
  pooling_mode_weightedmean_tokens: z.literal(false).default(false),
  pooling_mode_lasttoken: z.boolean().default(false),
  /** In newer versions, in place of the others. */
  pooling_mode: z.union([z.string(), z.array(z.string())]).nullish(),
});

const denseSchema = z.looseObject({
  in_features: z.int().positive(),
  out_features: z.int().positive(),
  bias: z.boolean().default(true),
  activation_function: z.string().default('torch.nn.modules.linear.Identity'),
  use_residual: z.literal(false, "residuals of dense layers can't be served").default(false),
});

const tokenId = z.int().nonnegative();
const logitScoreSchema = z.looseObject({
  true_token_id: tokenId,
  false_token_id: tokenId.nullish(),
});

const spladeSchema = z.looseObject({
  pooling_strategy: z.literal('max', 'only the pooling "max" can be served').default('max'),
  activation_function: z.literal('relu', 'only "relu" can be served').default('relu'),
});

const promptsSchema = z.looseObject({
  prompts: z.record(z.string(), z.string()).nullish(),
  default_prompt_name: z.string().nullish(),
  is_matryoshka: z.boolean().nullish(),
  matryoshka_dimensions: z.array(z.int().positive()).nullish(),
  similarity_fn_name: z.string().nullish(),
  ...pylateShape,
});

const lengthSchema = z.looseObject({ max_seq_length: z.int().positive().nullish() });

const MODULES_FILE = 'modules.json';
/** PyLate's name of what compares the vectors of two texts' tokens. */
const LATE_SIMILARITY = 'MaxSim';

/** Modules that modules.json lists. */
type Modules = Pick<SentenceModules, 'pooling' | 'dense' | 'normalize' | 'logitScore' | 'isSparse'>;

/** Modules of a transformer by itself, as sentence-transformers takes it. */
const PLAIN: Modules = {
  pooling: ['mean'],
  dense: [],
  normalize: false,
  logitScore: null,
  isSparse: false,
};

/** Modules of a model that generates text: its last token alone has seen the whole text. */
export const LAST_TOKEN: Modules = {
  pooling: ['last'],
  dense: [],
  normalize: true,
  logitScore: null,
  isSparse: false,
};

const NO_PROMPTS = {
  late: null,
  maxTokens: null,
  prompts: {},
  defaultPromptName: null,
  matryoshkaDimensions: null,
};

/**
 * Reads a folder's modules.json and what it names.
 * @param folder null for a model without one @param plain for a folder without the file
 * @throws {ModelError} when something of it is damaged, or a module that can't be served
 */
export async function readSentenceModules(
  folder: string | null,
  plain: Modules = PLAIN,
): Promise<SentenceModules> {
  if (folder === null) return { ...plain, ...NO_PROMPTS };
  const names = await readdir(folder);
  const optional = async <T>(name: string, schema: z.ZodType<T>): Promise<T | null> =>
    names.includes(name) ? await readChecked(join(folder, name), schema) : null;
  const modules = await optional(MODULES_FILE, modulesSchema);
  const prompts = await optional('config_sentence_transformers.json', promptsSchema);
  const length = await optional('sentence_bert_config.json', lengthSchema);
  const { matryoshka_dimensions: dimensions, is_matryoshka: isAny } = prompts ?? {};
  const isLate = prompts?.similarity_fn_name === LATE_SIMILARITY;
  return {
    ...(modules === null ? plain : await readModules(folder, modules, isLate)),
    late: isLate ? pylateInteraction(prompts) : null,
    maxTokens: length?.max_seq_length ?? null,
    prompts: prompts?.prompts ?? {},
    defaultPromptName: prompts?.default_prompt_name ?? null,
    matryoshkaDimensions: dimensions ?? (isAny === true ? 'any' : null),
  };
}

/**
 * Modules of a folder of Stanford's ColBERT.
 * @param names of its files @throws {ModelError}
 */
export async function stanfordModules(
  folder: string,
  names: readonly string[],
  hiddenSize: number,
): Promise<SentenceModules> {
  const { late, dim } = await readStanford(folder, names);
  const dense: DenseLayer = {
    // Its weights are among those of the model, by the name that they have in a file of their own.
    file: join(folder, SINGLE_FILE),
    inFeatures: hiddenSize,
    outFeatures: dim,
    bias: false,
    activation: 'identity',
  };
  return { ...PLAIN, ...NO_PROMPTS, pooling: [], dense: [dense], normalize: true, late };
}

/** @param isLate whether the vectors of tokens are the output */
async function readModules(
  folder: string,
  modules: z.infer<typeof modulesSchema>,
  isLate: boolean,
): Promise<Modules> {
  const origin = join(folder, MODULES_FILE);
  let pooling: readonly Pooling[] = [];
  const dense: DenseLayer[] = [];
  let normalize = isLate;
  let logitScore: LogitScore | null = null;
  let isSparse = false;
  for (const { path, type } of modules) {
    const inside = () => joinUntrusted(folder, path, origin);
    const kind: string = type.split('.').at(-1) ?? '';
    switch (kind) {
      case 'Transformer':
      case 'MLMTransformer':
        if (path !== '')
          throw new ModelError(`${origin}: the transformer is in a folder of its own`);
        break;
      case 'Pooling':
        pooling = await readPooling(join(inside(), 'config.json'));
        break;
      case 'SpladePooling':
        await readChecked(join(inside(), 'config.json'), spladeSchema);
        isSparse = true;
        break;
      case 'Dense':
        dense.push(await readDense(inside()));
        break;
      case 'LogitScore':
        logitScore = await readLogitScore(join(inside(), 'config.json'));
        break;
      case 'Normalize':
        normalize = true;
        break;
      default:
        throw new ModelError(`${origin} has a module that can't be served: ${type}`);
    }
  }
  if (pooling.length === 0 && logitScore === null && !isSparse && !isLate) {
    throw new ModelError(`${origin} has no pooling`);
  }
  return { pooling, dense, normalize, logitScore, isSparse };
}

async function readLogitScore(path: string): Promise<LogitScore> {
  const config = await readChecked(path, logitScoreSchema);
  return { trueTokenId: config.true_token_id, falseTokenId: config.false_token_id ?? null };
}

async function readPooling(path: string): Promise<readonly Pooling[]> {
  const config = await readChecked(path, poolingSchema);
  const named = [config.pooling_mode ?? []].flat().map((name) => POOLING_NAMES[name] ?? null);
  // In the order in which sentence-transformers lays them side by side.
  const flagged = [
    config.pooling_mode_cls_token && 'cls',
    config.pooling_mode_max_tokens && 'max',
    config.pooling_mode_mean_tokens && 'mean',
    config.pooling_mode_mean_sqrt_len_tokens && 'mean_sqrt_len',
    config.pooling_mode_lasttoken && 'last',
  ].filter((mode) => mode !== false) as Pooling[];
  if (named.includes(null)) throw new ModelError(`${path} has a pooling that can't be served`);
  const modes = named.length > 0 ? (named as Pooling[]) : flagged;
  if (modes.length === 0) throw new ModelError(`${path} names no pooling that can be served`);
  return modes;
}

const POOLING_NAMES: Readonly<Record<string, Pooling>> = {
  cls: 'cls',
  mean: 'mean',
  max: 'max',
  mean_sqrt_len_tokens: 'mean_sqrt_len',
  lasttoken: 'last',
};

async function readDense(folder: string): Promise<DenseLayer> {
  const path = join(folder, 'config.json');
  const config = await readChecked(path, denseSchema);
  const name = config.activation_function.split('.').at(-1)?.toLowerCase() ?? '';
  if (!isActivation(name)) {
    throw new ModelError(`${path} has an activation that can't be served: ${name}`);
  }
  return {
    file: join(folder, SINGLE_FILE),
    inFeatures: config.in_features,
    outFeatures: config.out_features,
    bias: config.bias,
    activation: name,
  };
}

function isActivation(name: string): name is DenseLayer['activation'] {
  return ['identity', 'tanh', 'relu', 'gelu'].includes(name);
}

async function readChecked<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(await readJson(path));
  if (parsed.success) return parsed.data;
  throw new ModelError(`${path}: ${explainZod(parsed.error)}`);
}
