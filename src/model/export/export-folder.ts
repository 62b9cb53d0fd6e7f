import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';

import { readBounded } from '../../files/read-bounded.ts';
import { standInForBinary, standInForBinaryAt } from '../../files/stand-in.ts';
import { joinUntrusted, UntrustedPathError } from '../../files/untrusted-path.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { externalFiles } from '../../onnx/external-initializers.ts';
import { parseModel } from '../../onnx/parsed-model.ts';
import { ModelError } from '../model-error.ts';
import { type ExportConfig, type ExportGraph, inspectExport } from './export-graph.ts';
import { groupAttention } from './group-attention.ts';
import { cachedBranch } from './merged-decoder.ts';
import { moveHeadNorms } from './head-norms.ts';
import { withCommonNames } from '../families/family.ts';
import { FAMILIES } from '../families/known-families.ts';
import { readJson } from '../huggingface/json-file.ts';
import type { ActivationDtype, Precision } from '../manifest.ts';
import { reasonOf } from '../../files/system-error.ts';

/** One of the graphs of an export, with weights and activations of its own. */
export interface ExportVariant {
  /** Absolute path. */
  readonly file: string;
  readonly precision: Precision;
  readonly activationDtype: ActivationDtype;
  /** Size of the file and of the files with its weights. */
  readonly bytes: number;
}

/** An ONNX export: as on the hub, or made by ONNX Runtime GenAI's model builder. */
export interface ExportFolder {
  readonly kind: 'export';
  /** Absolute path. */
  readonly path: string;
  readonly config: ExportConfig;
  /** At least one; among equals the preferred one comes first. */
  readonly variants: readonly ExportVariant[];
}

/** Rejects when there is none that fits, saying what there is. */
export type PickVariant = (choice: ChoiceOfVariants) => Promise<Pick<ExportVariant, 'file'>>;

export interface ChoiceOfVariants extends Pick<ExportFolder, 'path' | 'variants'> {
  readonly config: Pick<ExportConfig, 'attentionSoftcap'>;
}

export const GENAI_CONFIG = 'genai_config.json';

/** Precision and activation type by the part after `model` in the names of an export's files. */
const VARIANTS: Readonly<Record<string, readonly [Precision, ActivationDtype]>> = {
  '': ['fp32', 'float32'],
  _fp32: ['fp32', 'float32'],
  _fp16: ['fp16', 'float16'],
  _quantized: ['int8', 'float32'],
  _int8: ['int8', 'float32'],
  _uint8: ['int8', 'float32'],
  _q4: ['int4', 'float32'],
  _int4: ['int4', 'float32'],
  _q4f16: ['int4', 'float16'],
  _bnb4: ['int4', 'float32'],
};

/** Graphs beside a decoder: of models that read a text first, see or hear. */
export const PARTS =
  /^(?:encoder_model|embed_tokens|(?:vision|audio|speech)_(?:encoder|model)|embedding)\w*\.onnx$/;

/** Names of a decoder's graph before that part; the latter is of older releases of Optimum. */
const STEMS = ['model', 'decoder_model_merged'];

/** Where graphs lie in an export; a repository may have other exports in other folders. */
const FOLDERS: ReadonlySet<string> = new Set(['.', 'onnx']);

/** Names that families which are not built here have for the same (GPT-J, CodeGen, GPT-BigCode, MPT). */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  max_position_embeddings: ['n_positions', 'max_seq_len', 'seq_length'],
  hidden_size: ['n_embd', 'd_model'],
  num_attention_heads: ['n_head', 'n_heads'],
};

const size = z.int().positive();
const vocabSize = size.max(MODEL_LIMITS.vocabSize);
const positions = size.max(MODEL_LIMITS.positions);
const width = size.max(MODEL_LIMITS.width);
const headSize = size.max(MODEL_LIMITS.headDim);

const configSchema = z.looseObject({
  model_type: z.string(),
  vocab_size: vocabSize,
  max_position_embeddings: positions,
  head_dim: headSize.nullish(),
  hidden_size: width.nullish(),
  num_attention_heads: size.max(MODEL_LIMITS.heads).nullish(),
  attn_logit_softcapping: z.number().nullish(),
});

const genaiSchema = z.looseObject({
  model: z.looseObject({
    type: z.string(),
    vocab_size: vocabSize,
    context_length: positions,
    decoder: z.looseObject({
      filename: z.string(),
      head_size: headSize.nullish(),
      hidden_size: width.nullish(),
      num_attention_heads: size.max(MODEL_LIMITS.heads).nullish(),
      inputs: z.looseObject({ input_ids: z.string().default('input_ids') }),
      outputs: z.looseObject({ logits: z.string().default('logits') }),
    }),
  }),
});

/**
 * Looks into a folder for an export.
 * @param names of what is in it
 * @returns null when there is none
 * @throws {ModelError} when it is incomplete, or not a decoder that can be served
 */
export async function inspectExportFolder(
  path: string,
  names: readonly string[],
): Promise<ExportFolder | null> {
  if (names.includes(GENAI_CONFIG)) return inspectGenaiFolder(path, names);
  if (!names.includes('config.json')) return null;
  const inside = names.includes('onnx') ? await readdir(join(path, 'onnx')).catch(() => []) : [];
  const files = [...inside.map((name) => join('onnx', name)), ...names];
  const variants = await Promise.all(
    exportVariants(files).map(async ({ file, ...variant }) => ({
      ...variant,
      file: join(path, file),
      bytes: await totalBytes(filesOf(file, files).map((each) => join(path, each))),
    })),
  );
  if (variants.length === 0) return null;
  const file = join(path, 'config.json');
  return { kind: 'export', path, config: parseExportConfig(await readJson(file), file), variants };
}

/**
 * Those of an export's files, by their paths in its folder, that are graphs of a decoder: at most one
 * with the same weights and activations.
 */
export function exportVariants(files: readonly string[]): Omit<ExportVariant, 'bytes'>[] {
  const found = new Map<string, Omit<ExportVariant, 'bytes'>>();
  // The decoder of a model in several parts is called so as well.
  const stems = files.some((file) => PARTS.test(basename(file))) ? STEMS.slice(0, 1) : STEMS;
  for (const [suffix, [precision, activationDtype]] of Object.entries(VARIANTS)) {
    const names = stems.map((stem) => `${stem}${suffix}.onnx`);
    const graphs = files.filter((path) => FOLDERS.has(dirname(path)));
    const file = names
      .map((name) => graphs.find((path) => basename(path) === name))
      .find((path) => path !== undefined);
    const key = variantKey({ precision, activationDtype });
    if (file && !found.has(key)) found.set(key, { file, precision, activationDtype });
  }
  return [...found.values()];
}

/** Such as `int4 float16`. */
export function variantKey({
  precision,
  activationDtype,
}: Pick<ExportVariant, 'precision' | 'activationDtype'>): string {
  return `${precision} ${activationDtype}`;
}

/** A graph's file, and those that have weights of it by their names. */
export function filesOf(file: string, files: readonly string[]): string[] {
  return files.filter(
    (path) =>
      path === file || (/^[._]data(_\d+)?$/.test(path.slice(file.length)) && path.startsWith(file)),
  );
}

async function totalBytes(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return sizes.reduce((sum, each) => sum + each, 0);
}

/**
 * Reads a parsed config.json of any decoder, for what its export does not say.
 * @param origin what to call it in errors, such as its path
 * @throws {ModelError} when something is missing
 */
export function parseExportConfig(json: unknown, origin: string): ExportConfig {
  const { data: named } = z.looseObject({ model_type: z.string() }).safeParse(json);
  const family = FAMILIES.find(({ modelType }) => modelType === named?.model_type);
  const parsed = configSchema.safeParse(
    family ? withCommonNames(json, family) : withOtherNames(json),
  );
  if (!parsed.success) throw new ModelError(`${origin}: ${explainZod(parsed.error)}`);
  const { data } = parsed;
  const { hidden_size: hidden, num_attention_heads: heads } = data;
  return {
    family: data.model_type,
    vocabSize: data.vocab_size,
    hiddenSize: hidden ?? null,
    maxPositionEmbeddings: data.max_position_embeddings,
    headDim: data.head_dim ?? (hidden && heads ? hidden / heads : null),
    numHeads: heads ?? null,
    attentionSoftcap: data.attn_logit_softcapping ?? null,
    inputIds: 'input_ids',
    logits: 'logits',
  };
}

/** A configuration with the names that are missing in it, where it has one of the others. */
function withOtherNames(json: unknown): Record<string, unknown> {
  const fields: Record<string, unknown> = { ...Object(json) };
  for (const [name, others] of Object.entries(OTHER_NAMES)) {
    fields[name] ??= others.map((other) => fields[other]).find((value) => value !== undefined);
  }
  return fields;
}

/**
 * Reads the `model` of a folder's genai_config.json.
 * @throws {ModelError} when it is not that of a decoder
 */
export async function readGenaiConfig(path: string) {
  const origin = join(path, GENAI_CONFIG);
  const parsed = genaiSchema.safeParse(await readJson(origin));
  if (!parsed.success) throw new ModelError(`${origin}: ${explainZod(parsed.error)}`);
  return parsed.data.model;
}

async function inspectGenaiFolder(path: string, names: readonly string[]): Promise<ExportFolder> {
  const {
    type,
    vocab_size: numTokens,
    context_length: length,
    decoder,
  } = await readGenaiConfig(path);
  const config: ExportConfig = {
    family: type,
    vocabSize: numTokens,
    hiddenSize: decoder.hidden_size ?? null,
    maxPositionEmbeddings: length,
    headDim: decoder.head_size ?? null,
    numHeads: decoder.num_attention_heads ?? null,
    attentionSoftcap: null,
    inputIds: decoder.inputs.input_ids,
    logits: decoder.outputs.logits,
  };
  const file = joinUntrusted(path, decoder.filename, join(path, GENAI_CONFIG));
  const { precision, activationDtype, attentionSoftcap } = (await readExport(file, config)).facts;
  const bytes = await totalBytes(
    filesOf(
      file,
      names.map((name) => join(path, name)),
    ),
  );
  return {
    kind: 'export',
    path,
    config: { ...config, attentionSoftcap },
    variants: [{ file, precision, activationDtype, bytes }],
  };
}

/**
 * @throws {ModelError} when the file can't be read, or is not a decoder that can be served
 * @throws {UntrustedPathError} when its weights are to be read from outside of its folder
 */
export async function readExport(file: string, config: ExportConfig): Promise<ExportGraph> {
  let parsed;
  try {
    const content = await readBounded(file, MODEL_LIMITS.graphBytes);
    const other = standInForBinary(content);
    if (other !== null) throw new Error(`it ${other}`);
    parsed = parseModel(content);
    for (const [path, end] of externalFiles(parsed.graph, dirname(file), file)) {
      const { size: bytes } = await stat(path);
      if (bytes >= end) continue;
      const what =
        (await standInForBinaryAt(path)) ?? `has only ${bytes} of ${end} bytes: it is truncated`;
      throw new Error(`${path} ${what}`);
    }
  } catch (error) {
    if (error instanceof UntrustedPathError) throw error;
    const reason = reasonOf(error);
    throw new ModelError(`${file} can't be read: ${reason}`, { cause: error });
  }
  const origin = join(basename(dirname(file)), basename(file));
  const branch = cachedBranch(parsed);
  parsed = branch ?? parsed;
  const grouped = await groupAttention(parsed, config, origin, branch !== null);
  if (grouped === null) return inspectExport(moveHeadNorms(parsed, origin), config, origin);
  const exported = inspectExport(grouped.parsed, config, origin);
  const maxPositions = Math.min(exported.facts.maxPositions, grouped.maxPositions);
  return { ...exported, facts: { ...exported.facts, maxPositions } };
}
