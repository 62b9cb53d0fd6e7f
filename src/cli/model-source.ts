import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DecoderConfig, parseDecoderConfig } from '../model/huggingface/config.ts';
import type { TextSource } from '../front/text/load-text-model.ts';
import type { ModelSource } from '../model/build/model-source.ts';
import type { ExportFolder } from '../model/export/export-folder.ts';
import { ModelError } from '../model/model-error.ts';
import { fileExists } from '../model/build/file-exists.ts';
import { defaultCacheDirectory } from '../model/build/cache-directory.ts';
import { ggufModelName, isGguf } from '../model/gguf/gguf-names.ts';
import { ggufTextFolder } from '../model/gguf/text/text-folder.ts';
import { isHubReference, parseHubReference } from '../model/hub/hub-repository.ts';
import { inspectModelFolder, type ModelFolder } from '../model/huggingface/model-folder.ts';
import { PRESETS } from '../model/huggingface/presets.ts';
import type { ChosenDevice, RunnableModel } from './device.ts';
import { pickVariant } from './export-precision.ts';
import { localAdapterFolder, localModelFolder } from './download-model.ts';
import type { Options } from './options.ts';
import type { BuildableModel } from './precision.ts';
import { UsageError } from './usage-error.ts';

const EMBEDDED_MODEL = fileURLToPath(new URL('../../models/summit', import.meta.url));

/** What `--model` and `--random-weights` mean. */
export interface ChosenModel {
  readonly name: string;
  readonly source: ModelSource;
  readonly decoder: BuildableModel | ExportFolder;
  readonly text: TextSource;
}

/** What `--model` is if nobody says: the embedded model, or a shape that any weights go into. */
export function defaultModel(hasRandomWeights: boolean): string {
  return hasRandomWeights ? 'smollm2-135m' : EMBEDDED_MODEL;
}

/** What clients call a model unless the operator says otherwise. */
export function nameOfModel(model: string): string {
  if (isHubReference(model)) return parseHubReference(model).id;
  const path = resolve(model);
  if (isGguf(path)) return ggufModelName(basename(path));
  return basename(path) === 'config.json' ? basename(dirname(path)) : basename(path);
}

/**
 * @param deviceFor what a model is to run on, the CPU if null: which graph of an export is downloaded
 *   depends on it
 * @throws ModelError saying what was found and what is supported
 */
export async function chooseModel(
  {
    model,
    randomWeights,
    precision = 'auto',
    adapter,
  }: Options<'model' | 'randomWeights'> & Partial<Options<'precision' | 'adapter'>>,
  deviceFor: (model: RunnableModel) => Promise<ChosenDevice | null>,
): Promise<ChosenModel> {
  const named = model ?? defaultModel(randomWeights !== undefined);
  if (randomWeights !== undefined) {
    if (adapter !== undefined) throw new UsageError('--adapter needs a model with weights');
    return chooseShape(named, randomWeights);
  }
  const folder = await inspectModelFolder(
    await localModelFolder(named, async (choice) =>
      pickVariant(precision, await deviceFor(choice.config), choice),
    ),
  );
  const { path } = folder;
  const decoder = folder.kind === 'export' ? folder : buildable(folder.config, folder.stored);
  const text = { folder: await textFolderOf(folder), vocabSize: folder.config.vocabSize };
  return {
    name: nameOfModel(isHubReference(named) ? named : path),
    source: { kind: 'folder', path, adapter: adapter && (await localAdapterFolder(adapter)) },
    decoder,
    text,
  };
}

/** Where a model's tokenizer and chat template are: with it, or in the cache, out of a GGUF file. */
export async function textFolderOf({ kind, path }: ModelFolder): Promise<string> {
  return kind === 'gguf' ? ggufTextFolder(path, defaultCacheDirectory()) : path;
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
    };
  }
  const path = resolve(model);
  const file = (await isFolder(path)) ? join(path, 'config.json') : path;
  const json = await readConfig(file);
  const folder = dirname(file);
  const config = parseDecoderConfig(json, file);
  const hasText = await fileExists(join(folder, 'tokenizer.json'));
  return {
    name: basename(folder),
    source: { kind: 'random', config: json, seed },
    decoder: buildable(config),
    text: { folder: hasText ? folder : null, vocabSize: config.vocabSize },
  };
}

async function readConfig(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
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
