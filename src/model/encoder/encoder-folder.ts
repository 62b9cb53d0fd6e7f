import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { z } from 'zod';

import { ModelError } from '../model-error.ts';
import { exportVariants, filesOf } from '../export/export-folder.ts';
import { FAMILIES } from '../families/known-families.ts';
import { readJson } from '../huggingface/json-file.ts';
import { SHARD_INDEX, SINGLE_FILE, weightFiles } from '../huggingface/safetensors.ts';
import {
  type BertConfig,
  type EncoderFacts,
  parseBertConfig,
  parseEncoderFacts,
} from './encoder-config.ts';
import { readSentenceModules, type SentenceModules } from './sentence-modules.ts';
import { meaningOf } from '../../files/system-error.ts';

/** Output of a text encoder: a vector for a text, or a score for one text or two. */
export type EncoderKind = 'embedding' | 'reranker';

/** Where an encoder's graph comes from. */
export type EncoderGraphSource =
  /** A graph that somebody exported. */
  | { readonly type: 'export'; readonly file: string }
  /** Weights that a graph is built from. */
  | { readonly type: 'weights'; readonly config: BertConfig; readonly files: readonly string[] };

/** A folder of a text encoder, as sentence-transformers and the hub have them. */
export interface EncoderFolder {
  /** Absolute path. */
  readonly path: string;
  readonly kind: EncoderKind;
  readonly facts: EncoderFacts;
  readonly modules: SentenceModules;
  /** Longest text in tokens, special ones included. */
  readonly maxTokens: number;
  readonly graph: EncoderGraphSource;
  /** Size of all files with weights that are used. */
  readonly weightBytes: number;
}

/** Most tokens of a text, for models that do not state it. */
const DEFAULT_MAX_TOKENS = 512;

const tokenizerSchema = z.looseObject({ model_max_length: z.number().nullish() });

const lookSchema = z.looseObject({
  model_type: z.string().default(''),
  architectures: z.array(z.string()).nullish(),
  use_bidirectional_attention: z.boolean().nullish(),
});

/**
 * Whether a folder looks like that of a text encoder: by what it says, not by its weights. Language
 * models that make embeddings (Qwen3-Embedding) are none: their attention goes one way.
 */
export async function isEncoderFolder(path: string): Promise<boolean> {
  const names = await readdir(path).catch((): string[] => []);
  if (!names.includes('config.json')) return false;
  const config = await readJson(join(path, 'config.json')).catch(() => null);
  const { data: look } = lookSchema.safeParse(config);
  if (look === undefined) return false;
  const isDecoder = FAMILIES.some(({ modelType }) => modelType === look.model_type);
  if (isDecoder && look.use_bidirectional_attention !== true) return false;
  const isKnown = (look.architectures ?? []).some((name) => ENCODERS.test(name));
  return isKnown || names.includes('modules.json');
}

const ENCODERS =
  /^(?:Bert|Roberta|XLMRoberta|Camembert|MPNet|DistilBert|ModernBert|NewModel|NomicBert).*?(?:Model|ForSequenceClassification|ForMaskedLM)$/;

/**
 * Finds out what text encoder a folder holds.
 * @param prefer what is taken where it has both a graph and weights that one can be built of
 * @throws {ModelError} when it holds none, or one that can't be served
 */
export async function inspectEncoderFolder(
  folder: string,
  prefer: EncoderGraphSource['type'] = 'export',
): Promise<EncoderFolder> {
  const path = resolve(folder);
  const names = await readdir(path).catch((error: unknown) => {
    throw new ModelError(`${path} cannot be read: ${meaningOf(error)}`, { cause: error });
  });
  const configPath = join(path, 'config.json');
  const config = await readJson(configPath);
  const facts = parseEncoderFacts(config, configPath);
  const modules = await readSentenceModules(path);
  const graph = await graphIn(path, names, config, prefer);
  return {
    path,
    kind: facts.isClassifier ? 'reranker' : 'embedding',
    facts,
    modules,
    maxTokens: await maxTokensOf(path, names, facts, modules),
    graph,
    weightBytes: await bytesOf(graph),
  };
}

/**
 * Finds the preferred source of a graph. The other one is taken if the preferred one is missing or
 * can't be served.
 */
async function graphIn(
  path: string,
  names: readonly string[],
  config: unknown,
  prefer: EncoderGraphSource['type'],
): Promise<EncoderGraphSource> {
  const exported = await exportIn(path, names);
  if (exported !== null && prefer === 'export') return exported;
  try {
    return await weightsIn(path, names, config);
  } catch (error) {
    if (exported !== null && error instanceof ModelError) return exported;
    throw error;
  }
}

async function exportIn(
  path: string,
  names: readonly string[],
): Promise<EncoderGraphSource | null> {
  const inside = names.includes('onnx') ? await readdir(join(path, 'onnx')) : [];
  const variants = exportVariants([...inside.map((name) => join('onnx', name)), ...names]);
  const first = variants.find(({ activationDtype }) => activationDtype === 'float32');
  return first ? { type: 'export', file: join(path, first.file) } : null;
}

async function weightsIn(
  path: string,
  names: readonly string[],
  config: unknown,
): Promise<EncoderGraphSource> {
  const files = await weightFiles(path, names);
  if (files.length === 0) {
    throw new ModelError(
      `${path} has neither onnx/model.onnx or model.onnx nor ${SINGLE_FILE} or ${SHARD_INDEX}`,
    );
  }
  return { type: 'weights', config: parseBertConfig(config, join(path, 'config.json')), files };
}

async function maxTokensOf(
  path: string,
  names: readonly string[],
  { maxPositions }: EncoderFacts,
  modules: SentenceModules,
): Promise<number> {
  const file = 'tokenizer_config.json';
  const config = names.includes(file) ? await readJson(join(path, file)) : {};
  const named = tokenizerSchema.safeParse(config).data?.model_max_length ?? null;
  const wanted = modules.maxTokens ?? named ?? maxPositions ?? DEFAULT_MAX_TOKENS;
  return Math.floor(Math.min(wanted, maxPositions ?? Infinity));
}

async function bytesOf(graph: EncoderGraphSource): Promise<number> {
  const files =
    graph.type === 'weights' ? graph.files : filesOf(graph.file, await beside(graph.file));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function beside(file: string): Promise<string[]> {
  const folder = join(file, '..');
  return (await readdir(folder)).map((name) => join(folder, name));
}
