import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { parseDecoderConfig, type DecoderConfig } from '../huggingface/config.ts';
import { fileExists } from '../../files/file-exists.ts';
import { ModelError } from '../model-error.ts';
import { type ExportFolder, inspectExportFolder } from '../export/export-folder.ts';
import { type GgufCheckpoint, inspectGguf } from '../gguf/gguf-checkpoint.ts';
import { beginsAsGguf } from '../gguf/gguf-beginning.ts';
import { type StoredPrecision, storedPrecision } from '../native/stored-precision.ts';
import { ggufModels, isGguf, isGgufPiece } from '../gguf/gguf-names.ts';
import { QuantizedWeights } from '../quantized/quantized-weights.ts';
import { readJson } from '../huggingface/json-file.ts';
import { MODELOPT_FILE, withModelOpt } from '../huggingface/modelopt.ts';
import {
  SafetensorsWeights,
  SHARD_INDEX,
  SINGLE_FILE,
  weightFiles,
} from '../huggingface/safetensors.ts';
import { describeUnserved, insteadOfGraph } from '../export/unserved-export.ts';
import { mlxWeights, nameExperts } from './mlx-weights.ts';
import { exportBelow } from './export-below.ts';
import { joinedHeadNorms } from './joined-head-norms.ts';
import { multipliedWeights } from './multiplied-weights.ts';
import { withNormalizedHead } from './normalized-head.ts';
import { withOwnHead } from './own-head.ts';
import { speechWeights } from '../huggingface/speech-weights.ts';
import { StackedWeights } from './stacked-experts.ts';
import { transposedWeights } from '../huggingface/transposed-weights.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { meaningOf } from '../../files/system-error.ts';

/** A Hugging Face checkpoint: config.json and safetensors weights. */
export interface HuggingFaceFolder {
  readonly kind: 'huggingface';
  /** Absolute path. */
  readonly path: string;
  readonly config: DecoderConfig;
  /** Null where its layers are stored in floats, or in what no product reads. */
  readonly stored: StoredPrecision | null;
  /** Absolute paths of the safetensors files, in order. */
  readonly weightFiles: readonly string[];
  /** Opens the weights. @throws {ModelError} if a file is missing or damaged */
  readonly open: () => Promise<WeightSource>;
}

/** A folder or file that `--model` can name. */
export type ModelFolder = HuggingFaceFolder | GgufCheckpoint | ExportFolder;

const SUPPORTED =
  'supported: a Hugging Face folder (config.json and safetensors weights), a GGUF file or an ONNX ' +
  'export; see docs/models-and-precision.md';

/** Weights as PyTorch pickles them; one file, or many. */
const PICKLED = /^pytorch_model(?:-\d+-of-\d+)?\.bin$/;

/** Names of a folder's content that an error lists. */
const MAX_LISTED = 8;

/**
 * Finds out what kind of model a folder holds, or a GGUF file is. If a folder has both weights and an export, the
 * export is used only if no graph can be built from the weights.
 * @param maxModelLen see parseDecoderConfig
 * @throws {ModelError} saying what was found and what is supported
 */
export async function inspectModelFolder(path: string, maxModelLen?: number): Promise<ModelFolder> {
  const folder = resolve(path);
  if (isGguf(folder) && (await fileExists(folder))) return inspectGguf(folder, maxModelLen);
  const names = await listFolder(folder);
  if (!names.includes('config.json') || !hasSafetensors(names)) {
    const exported = await inspectExportFolder(folder, names);
    if (exported !== null) return exported;
    const [file, ...others] = ggufModels(names);
    if (others.length > 0) {
      throw new ModelError(
        `${folder} has several GGUF models; name one of ${list(ggufModels(names))}`,
      );
    }
    if (file !== undefined) return inspectGguf(join(folder, file), maxModelLen);
    const inside = hasSafetensors(names) ? null : await exportBelow(folder);
    if (inside !== null) return inspectModelFolder(inside, maxModelLen);
    const unserved = hasSafetensors(names) ? null : await describeUnserved(folder, names);
    if (unserved !== null) throw new ModelError(`${folder} ${unserved}; ${SUPPORTED}`);
    throw new ModelError(`${folder} ${describe(folder, names)}; ${SUPPORTED}`);
  }
  try {
    return await inspectHuggingFaceFolder(folder, names, maxModelLen);
  } catch (error) {
    const exported = error instanceof ModelError ? await inspectExportFolder(folder, names) : null;
    if (exported !== null) return exported;
    throw error;
  }
}

async function inspectHuggingFaceFolder(
  folder: string,
  names: readonly string[],
  maxModelLen: number | undefined,
): Promise<HuggingFaceFolder> {
  const configPath = join(folder, 'config.json');
  const json = await readConfig(folder, names);
  const stated = parseDecoderConfig(json, configPath, maxModelLen);
  const files = await weightFiles(folder, names);
  const config = await withOwnHead(stated, files);
  let stored: StoredPrecision | null = null;
  if (config.quantization !== null) {
    const weights = await openWeights(files, config);
    try {
      stored = storedPrecision(config, weights);
    } finally {
      await weights.close();
    }
  }
  return {
    kind: 'huggingface',
    path: folder,
    config,
    stored,
    weightFiles: files,
    open: () => openWeights(files, config),
  };
}

/** config.json, with what ModelOpt says elsewhere. */
async function readConfig(folder: string, names: readonly string[]): Promise<unknown> {
  const json = await readJson(join(folder, 'config.json'));
  if (!names.includes(MODELOPT_FILE)) return json;
  const path = join(folder, MODELOPT_FILE);
  return withModelOpt(json, await readJson(path), path);
}

async function openStored(
  files: readonly string[],
  config: DecoderConfig,
): Promise<{ plain: SafetensorsWeights; stored: WeightSource }> {
  const { quantization } = config;
  const plain = await SafetensorsWeights.open(files);
  if (quantization === null) return { plain, stored: plain };
  const quantized = await QuantizedWeights.open(plain, quantization);
  if (quantization.method !== 'mlx') return { plain, stored: quantized };
  try {
    nameExperts(plain, config);
  } catch (error) {
    await plain.close();
    throw error;
  }
  return { plain, stored: mlxWeights(plain, quantized, config) };
}

async function openWeights(files: readonly string[], config: DecoderConfig): Promise<WeightSource> {
  const { family } = config;
  const { plain, stored } = await openStored(files, config);
  const multiplied = multipliedWeights(config, stored);
  const weights = withNormalizedHead(config, joinedHeadNorms(config, multiplied));
  if (config.crossPositions !== undefined) return speechWeights(weights, config.crossPositions);
  if (family.storesTransposed) return transposedWeights(weights, family.tensors.layerPrefix);
  const stacked = family.experts?.stacked ?? null;
  return stacked === null ? weights : new StackedWeights(plain, weights, config, stacked);
}

function hasSafetensors(names: readonly string[]): boolean {
  return names.includes(SINGLE_FILE) || names.includes(SHARD_INDEX);
}

async function listFolder(folder: string): Promise<string[]> {
  const stats = await stat(folder).catch((error: unknown) => {
    throw new ModelError(`${folder} cannot be read: ${meaningOf(error)}`, { cause: error });
  });
  if (!stats.isDirectory()) {
    if (isGgufPiece(folder)) {
      throw new ModelError(
        `${folder} is a piece of a GGUF file that was cut: join all of them, in order, to one file (\`cat\`), and ` +
          'serve that',
      );
    }
    if (await beginsAsGguf(folder)) {
      throw new ModelError(
        `${folder} is a GGUF file without .gguf at the end of its name: rename it, or link to it by such a name`,
      );
    }
    const graph = await insteadOfGraph(folder);
    if (graph !== null) throw new ModelError(`${folder} ${graph}`);
    throw new ModelError(`${folder} is a file, not a folder; ${SUPPORTED}`);
  }
  return (await readdir(folder)).sort();
}

/** Describes a folder that is not supported, as the rest of a sentence about it. */
function describe(folder: string, names: readonly string[]): string {
  if (hasSafetensors(names)) return 'has safetensors weights but no config.json';
  const pickled = names.find((name) => PICKLED.test(name));
  if (pickled !== undefined && names.includes('config.json')) {
    return `has pickled weights (${pickled}), which are programs and are not run; this makes safetensors of them: ${conversionOf(folder)}`;
  }
  if (names.includes('config.json')) {
    return `has a config.json but no ${SINGLE_FILE}; it holds ${list(names)}`;
  }
  return names.length === 0 ? 'is an empty folder' : `holds no model, only ${list(names)}`;
}

/** A command for a shell; PyTorch reads weights of such a file and nothing else. */
function conversionOf(folder: string): string {
  const program =
    'import sys, transformers as t; p = sys.argv[1]; t.AutoModelForCausalLM.from_pretrained(p, dtype="auto").save_pretrained(p)';
  return `python3 -c '${program}' '${folder.replaceAll("'", "'\\''")}'`;
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED).join(', ');
  return names.length > MAX_LISTED ? `${shown} and ${names.length - MAX_LISTED} more` : shown;
}
