import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { z } from 'zod';

import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import { exportVariants, filesOf } from '../export/export-folder.ts';
import { FAMILIES } from '../families/known-families.ts';
import { readJson } from '../huggingface/json-file.ts';
import { SHARD_INDEX, SINGLE_FILE, weightFiles } from '../huggingface/safetensors.ts';
import { type EncoderFacts, parseEncoderConfig, parseEncoderFacts } from './encoder-config.ts';
import type { EncoderKind } from './encoder-kind.ts';
import type { EncoderConfig } from './encoder-shape.ts';
import { readSentenceModules, type SentenceModules, stanfordModules } from './sentence-modules.ts';
import { dualTypeOf, type TextEnd, textEndOf, textPartOf } from './text-part.ts';
import { meaningOf } from '../../files/system-error.ts';

/** Where an encoder's graph comes from. */
export type EncoderGraphSource =
  /** A graph that somebody exported. */
  | { readonly type: 'export'; readonly file: string }
  /** Weights that a graph is built from. */
  | { readonly type: 'weights'; readonly config: EncoderConfig; readonly files: readonly string[] };

/** A folder of a text encoder, as sentence-transformers and the hub have them. */
export interface EncoderFolder {
  /** Absolute path. */
  readonly path: string;
  readonly kind: EncoderKind;
  readonly facts: EncoderFacts;
  readonly modules: SentenceModules;
  /** Longest text in tokens, special ones included. */
  readonly maxTokens: number;
  /** Null for a model that reads the tokens as they are. */
  readonly textEnd: TextEnd | null;
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
  /^(?:(?:CLIP|Siglip)Model|HF_ColBERT|(?:Bert|Roberta|XLMRoberta|Camembert|MPNet|DistilBert|ModernBert|New|Gte|NomicBert).*?(?:Model|ForSequenceClassification|ForMaskedLM))$/;

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
  const config = textPartOf(await readJson(configPath));
  const facts = parseEncoderFacts(config, configPath);
  const modules = facts.isStanford
    ? await stanfordModules(path, names, facts.hiddenSize ?? 0)
    : await readSentenceModules(path);
  const kind = kindOf(modules, facts);
  const graph = await graphIn(path, names, { config, kind, prefer });
  const stated = await maxTokensOf(path, names, facts, modules);
  const maxTokens = Math.min(stated, mostTokens(graph));
  return {
    path,
    kind,
    facts,
    modules,
    maxTokens,
    textEnd: textEndOf(config, maxTokens),
    graph,
    weightBytes: await bytesOf(graph),
  };
}

function kindOf(
  { isSparse, late }: SentenceModules,
  { isClassifier }: Pick<EncoderFacts, 'isClassifier'>,
): EncoderKind {
  if (late !== null) return 'late';
  if (isSparse) return 'sparse';
  return isClassifier ? 'reranker' : 'embedding';
}

interface Wanted {
  /** Contents of config.json. */
  readonly config: unknown;
  readonly kind: EncoderKind;
  readonly prefer: EncoderGraphSource['type'];
}

/**
 * Finds the preferred source of a graph. The other one is taken if the preferred one is missing or
 * can't be served.
 */
async function graphIn(
  path: string,
  names: readonly string[],
  { config, kind, prefer }: Wanted,
): Promise<EncoderGraphSource> {
  const exported = await exportIn(path, names);
  // Exports of sparse encoders end with scores of all words for each token, of two towers with both, and those of
  // late interaction before their last layer, mostly.
  if (kind === 'sparse' || kind === 'late' || dualTypeOf(config) !== null)
    return weightsIn(path, names, config, kind);
  if (exported !== null && prefer === 'export') return exported;
  try {
    return await weightsIn(path, names, config, kind);
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
  kind: EncoderKind,
): Promise<EncoderGraphSource> {
  const files = await weightFiles(path, names);
  if (files.length === 0) {
    throw new ModelError(
      `${path} has neither onnx/model.onnx or model.onnx nor ${SINGLE_FILE} or ${SHARD_INDEX}`,
    );
  }
  const origin = join(path, 'config.json');
  return { type: 'weights', config: parseEncoderConfig(config, origin, kind), files };
}

/** Tokens that a graph has positions for, and memory; an export does not say. */
function mostTokens(graph: EncoderGraphSource): number {
  if (graph.type === 'export') return Infinity;
  const { numPositions, firstPosition } = graph.config;
  return Math.min(numPositions - firstPosition, scoredTokens(graph) ?? Infinity);
}

/** Tokens whose scores of all words fit into memory; null for a graph that scores none. */
export function scoredTokens(graph: EncoderGraphSource): number | null {
  if (graph.type === 'export' || graph.config.head?.type !== 'words') return null;
  const bytes = graph.config.vocabSize * Float32Array.BYTES_PER_ELEMENT;
  return Math.max(1, Math.floor(MODEL_LIMITS.wordScoreBytes / bytes));
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
