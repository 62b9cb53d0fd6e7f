import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DecoderConfig, parseDecoderConfig } from '../../model/huggingface/config.ts';
import type { TextSource } from '../../front/prompts/load-text-model.ts';
import type { ModelSource } from '../../model/build/model-source.ts';
import type { ExportFolder } from '../../model/export/export-folder.ts';
import { ModelError } from '../../model/model-error.ts';
import { fileExists } from '../../files/file-exists.ts';
import { parsePythonJson } from '../../files/python-json.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { ggufTextFolder } from '../../model/gguf/text/text-folder.ts';
import { madeTextFolder } from '../../model/tokenizer/made-text-folder.ts';
import { inspectModelFolder, type ModelFolder } from '../../model/folder/model-folder.ts';
import { inspectSpeech, type SpeechPart } from '../../model/speech/speech-folder.ts';
import { inspectVision } from '../../model/vision/vision-folder.ts';
import type { VisionPart } from '../../model/vision/vision-part.ts';
import { PRESETS } from '../../model/huggingface/presets.ts';
import type { ModelFormat } from '../../server/runtimes.ts';
import type { ChosenDevice, RunnableModel } from '../choices/device.ts';
import { readChatTemplate } from './chat-template.ts';
import { pickVariant } from '../choices/export-precision.ts';
import { localAdapterFolder, localModelFolder } from './download-model.ts';
import { findModel } from './find-model.ts';
import type { Options } from '../../settings/options.ts';
import type { BuildableModel } from '../choices/precision.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { meaningOf } from '../../files/system-error.ts';

const EMBEDDED_MODEL = fileURLToPath(new URL('../../../models/summit', import.meta.url));

/** Model that `--model` and `--random-weights` choose. */
export interface ChosenModel {
  readonly name: string;
  readonly source: ModelSource;
  readonly decoder: BuildableModel | ExportFolder;
  readonly text: TextSource;
  /** The part that sees; null for a model that takes text alone. */
  readonly vision: VisionPart | null;
  /** The part that hears; null for a model that takes no speech. */
  readonly speech: SpeechPart | null;
  readonly format: ModelFormat;
  /** Quantization of a GGUF file, such as `Q4_K_M`; null for others. */
  readonly quantization: string | null;
}

const FORMATS = { huggingface: 'safetensors', gguf: 'gguf', export: 'onnx' } as const;
/** Random weights are in no file but the graph's. */
const MADE_UP = { format: 'onnx', quantization: null, vision: null, speech: null } as const;

/** Value of `--mmproj` that leaves the part that sees out. */
const NO_MMPROJ = 'off';

/** Default of `--model`: the embedded model, or a shape that any weights go into. */
export function defaultModel(hasRandomWeights: boolean): string {
  return hasRandomWeights ? 'smollm2-135m' : EMBEDDED_MODEL;
}

/**
 * @param deviceFor what a model is to run on, the CPU if null: which graph of an export is downloaded
 *   depends on it
 * @throws UserError when there is no such model; ModelError saying what was found and what is
 *   supported
 */
export async function chooseModel(
  {
    model,
    randomWeights,
    precision = 'auto',
    adapter,
    modelRepository,
    mmproj,
    ...template
  }: Options<'model' | 'randomWeights'> &
    Partial<Options<'precision' | 'adapter' | 'modelRepository' | 'mmproj'>> &
    TemplateOptions,
  deviceFor: (model: RunnableModel) => Promise<ChosenDevice | null>,
): Promise<ChosenModel> {
  if (randomWeights !== undefined) {
    if (adapter !== undefined) throw new UsageError('--adapter needs a model with weights');
    const shape = await chooseShape(model ?? defaultModel(true), randomWeights);
    return { ...shape, text: await textOf(shape.text.folder, shape.text.vocabSize, template) };
  }
  const { source, name } = await findModel(model ?? defaultModel(false), modelRepository);
  const folder = await inspectModelFolder(
    await localModelFolder(source, async (choice) =>
      pickVariant(precision, await deviceFor(choice.config), choice),
    ),
  );
  const { path } = folder;
  const decoder = folder.kind === 'export' ? folder : buildable(folder.config, folder.stored);
  const text = await textOf(await textFolderOf(folder), folder.config.vocabSize, template);
  return {
    name,
    source: { kind: 'folder', path, adapter: adapter && (await localAdapterFolder(adapter)) },
    decoder,
    text,
    vision: await visionOf(folder, mmproj),
    speech: folder.kind === 'huggingface' ? await inspectSpeech(path) : null,
    format: FORMATS[folder.kind],
    quantization: folder.kind === 'gguf' ? folder.fileType : null,
  };
}

/** @param mmproj of --mmproj @throws UsageError, ModelError */
async function visionOf(
  { kind, path, config }: ModelFolder,
  mmproj: string | undefined,
): Promise<VisionPart | null> {
  if (mmproj === NO_MMPROJ) return null;
  if (mmproj !== undefined && kind !== 'gguf') {
    throw new UsageError(`--mmproj is for a GGUF model, and ${path} is none`);
  }
  return kind === 'export' ? null : inspectVision(path, config.hiddenSize, mmproj);
}

type TemplateOptions = Partial<Options<'chatTemplate' | 'chatTemplateKwargs'>>;

/** @throws UsageError for a template that can't be used */
async function textOf(
  folder: string | null,
  vocabSize: number,
  { chatTemplate, chatTemplateKwargs }: TemplateOptions,
): Promise<TextSource> {
  return {
    folder,
    vocabSize,
    chatTemplate: await readChatTemplate(chatTemplate, folder),
    templateVariables: chatTemplateKwargs,
  };
}

/** Where a model's tokenizer and chat template are: with it, or in the cache, made of what it has. */
export async function textFolderOf({ kind, path }: ModelFolder): Promise<string> {
  const make = kind === 'gguf' ? ggufTextFolder : madeTextFolder;
  return make(path, defaultCacheDirectory());
}

function buildable(config: DecoderConfig, stored: BuildableModel['stored'] = null): BuildableModel {
  return { kind: 'buildable', config, stored };
}

async function chooseShape(model: string, seed: number): Promise<ChosenModel> {
  const preset = Object.entries(PRESETS).find(([name]) => name === model)?.[1];
  if (preset) {
    const config = parseDecoderConfig(preset, `preset ${model}`);
    return {
      name: model,
      source: { kind: 'random', config: preset, seed },
      decoder: buildable(config),
      text: { folder: null, vocabSize: config.vocabSize },
      ...MADE_UP,
    };
  }
  const path = resolve(model);
  const file = (await isFolder(path)) ? join(path, 'config.json') : path;
  const json = await readConfig(file);
  const folder = dirname(file);
  const config = parseDecoderConfig(json, file);
  const texts = await madeTextFolder(folder, defaultCacheDirectory());
  const hasText = await fileExists(join(texts, 'tokenizer.json'));
  return {
    name: basename(folder),
    source: { kind: 'random', config: json, seed },
    decoder: buildable(config),
    text: { folder: hasText ? texts : null, vocabSize: config.vocabSize },
    ...MADE_UP,
  };
}

async function readConfig(file: string): Promise<unknown> {
  try {
    return parsePythonJson(await readFile(file, 'utf8'));
  } catch (error) {
    const reason = meaningOf(error);
    throw new ModelError(
      `--random-weights needs a shape: a preset (${Object.keys(PRESETS).join(', ')}), ` +
        `a config.json or a folder with one. ${file} is none: ${reason}`,
      { cause: error },
    );
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}
