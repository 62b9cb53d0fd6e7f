import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { AdapterLimits } from '../../engine/cpu/adapter-slots.ts';
import { joinUntrusted, UntrustedPathError } from '../../files/untrusted-path.ts';
import { ServedAdapters } from '../../front/adapters/served-adapters.ts';
import { InvalidRequestError } from '../../front/invalid-request.ts';
import { parseAdapterConfig } from '../../model/adapters/adapter-config.ts';
import { prepareLiveAdapter } from '../../model/adapters/live-adapter-file.ts';
import { adapterFiles } from '../../model/adapters/lora-adapter.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import type { KernelSet, Precision } from '../../model/manifest.ts';
import type { DecoderConfig } from '../../model/huggingface/config.ts';
import { readJson } from '../../model/huggingface/json-file.ts';
import { ModelError } from '../../model/model-error.ts';
import { isRemote } from '../../model/remotes/remotes.ts';
import type { ChosenDevice } from '../choices/device.ts';
import { localAdapterFolder } from '../models/download-model.ts';
import { isElsewhere } from '../models/find-model.ts';
import type { Options } from '../../settings/options.ts';
import { UsageError } from '../../settings/usage-error.ts';

/** Flags of adapters that requests pick. */
type LoraOptions = Options<'loraModules' | 'loraDir' | 'maxLoras' | 'maxLoraRank' | 'maxCpuLoras'>;

/** Whether requests can pick adapters. */
export function hasLora({ loraModules, loraDir }: Partial<LoraOptions>): boolean {
  return loraModules !== undefined || loraDir !== undefined;
}

/** Checks that an adapter exists where a flag says, by its small files. @throws ModelError */
export async function checkAdapter(adapter: string): Promise<void> {
  if (await isElsewhere(adapter)) return;
  const [config = ''] = await adapterFiles(resolve(adapter));
  parseAdapterConfig(await readJson(config), config);
}

/**
 * Checks that a model can have live adapters.
 * @throws UsageError saying why it can't
 */
export function requireLora(
  model: 'buildable' | 'export',
  { device }: Pick<ChosenDevice, 'device'>,
  precision: Precision,
): void {
  const refuse = (why: string): never => {
    throw new UsageError(`--lora-modules and --lora-dir ${why}`);
  };
  if (model === 'export') refuse('need a model in safetensors or GGUF, not an ONNX export');
  if (precision === 'int8-static')
    refuse('need another precision: int8-static smooths what they read');
  if (device.name !== 'cpu') refuse(`need the CPU, not ${device.name}; --adapter goes everywhere`);
}

/** Logs it if there is no folder to load adapters from: somebody may make it yet. */
export async function warnOfMissing(
  { loraDir }: Pick<LoraOptions, 'loraDir'>,
  logger: Logger,
): Promise<void> {
  if (loraDir === undefined) return;
  const stats = await stat(loraDir).catch(() => null);
  if (stats?.isDirectory() === true) return;
  const what = stats === null ? 'there is no such folder' : 'it is not a folder';
  logger.warn({ folder: loraDir }, `--lora-dir ${loraDir}: ${what}, so no adapter can be loaded`);
}

/** How many the engine has. */
export function adapterLimits({ maxLoras, maxCpuLoras }: LoraOptions): AdapterLimits {
  return { maxActive: maxLoras, maxCached: Math.max(maxLoras, maxCpuLoras ?? 0) };
}

/**
 * The adapters that a model starts with.
 * @throws UsageError, ModelError when one can't be had
 */
export async function openAdapters(
  { loraModules = {}, loraDir, maxLoraRank }: LoraOptions,
  modelName: string,
  config: DecoderConfig,
  kernels: KernelSet,
): Promise<ServedAdapters> {
  const cache = defaultCacheDirectory();
  const prepare = (folder: string) =>
    prepareLiveAdapter(folder, config, maxLoraRank, kernels, cache);
  // Those of a command line are where the operator says, elsewhere too; those of requests in one
  // folder: a download would fill the disk, and read with the operator's token what is private.
  let isStarting = true;
  const adapters = new ServedAdapters(async (path) => {
    if (isStarting) return prepare(await localAdapterFolder(path));
    if (loraDir === undefined || isRemote(path)) {
      throw new InvalidRequestError('adapters are loaded from --lora-dir only', 'lora_path');
    }
    try {
      return await prepare(joinUntrusted(resolve(loraDir), path, 'the request'));
    } catch (error) {
      const isAnswer = error instanceof ModelError || error instanceof UntrustedPathError;
      if (isAnswer) throw new InvalidRequestError(error.message, 'lora_path');
      throw error;
    }
  });
  for (const [name, path] of Object.entries(loraModules)) {
    if (name === modelName) throw new UsageError(`--lora-modules: the model is called ${name}`);
    await adapters.load(name, path);
  }
  isStarting = false;
  return adapters;
}
