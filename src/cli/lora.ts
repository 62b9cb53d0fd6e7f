import { resolve } from 'node:path';
import type { AdapterLimits } from '../engine/cpu/adapter-slots.ts';
import { joinUntrusted, UntrustedPathError } from '../files/untrusted-path.ts';
import { ServedAdapters } from '../front/adapters/served-adapters.ts';
import { InvalidRequestError } from '../front/invalid-request.ts';
import { prepareLiveAdapter } from '../model/adapters/live-adapter-file.ts';
import { defaultCacheDirectory } from '../model/build/cache-directory.ts';
import type { KernelSet, Precision } from '../model/build/manifest.ts';
import type { DecoderConfig } from '../model/huggingface/config.ts';
import { ModelError } from '../model/model-error.ts';
import { isHubReference } from '../model/hub/hub-repository.ts';
import type { ChosenDevice } from './device.ts';
import { localAdapterFolder } from './download-model.ts';
import type { OptionName, Options } from './options.ts';
import { UsageError } from './usage-error.ts';

/** Flags of adapters that requests pick. */
export const LORA_OPTIONS = [
  'loraModules',
  'loraDir',
  'maxLoras',
  'maxLoraRank',
  'maxCpuLoras',
] as const satisfies readonly OptionName[];

type LoraOptions = Options<(typeof LORA_OPTIONS)[number]>;

/** Whether requests can pick adapters. */
export function hasLora({ loraModules, loraDir }: Partial<LoraOptions>): boolean {
  return loraModules !== undefined || loraDir !== undefined;
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
  // Those of a command line are where the operator says, on the hub too; those of requests in one
  // folder: a download would fill the disk, and read with the operator's token what is private.
  let isStarting = true;
  const adapters = new ServedAdapters(async (path) => {
    if (isStarting) return prepare(await localAdapterFolder(path));
    if (loraDir === undefined || isHubReference(path)) {
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
