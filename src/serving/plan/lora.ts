import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { AdapterLimits } from '../../engine/cpu/adapter-slots.ts';
import { joinUntrusted, UntrustedPathError } from '../../files/untrusted-path.ts';
import { AdapterShelf } from '../../front/adapters/adapter-shelf.ts';
import {
  type PrepareAdapter,
  ServedAdapters,
  type ServedAdaptersOptions,
} from '../../front/adapters/served-adapters.ts';
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

/** Whether a model has adapters that requests pick: it must, or may where other models can have them. */
export type LoraNeed = 'must' | 'may' | 'none';

/** Models that a server has, as far as it matters to adapters. */
export interface ServedNames {
  readonly names: ReadonlySet<string>;
  /** Further names that requests use. */
  readonly aliases: Iterable<string>;
  /** Name of the model of the command line; null for several, or a repository. */
  readonly only: string | null;
}

/** The adapters of a server. */
export interface ServedLora {
  readonly shelf: AdapterShelf;
  /** @param model its name */
  needOf(model: string): LoraNeed;
}

/** Where requests pick no adapters. */
export const NO_LORA: ServedLora = { shelf: new AdapterShelf(), needOf: () => 'none' };

/**
 * The adapters of the command line, each with its model.
 * @throws UsageError for one without a model, or with a model's name
 */
export function servedLora(
  { loraModules = {}, loraDir }: Partial<Pick<LoraOptions, 'loraModules' | 'loraDir'>>,
  { names, aliases, only }: ServedNames,
): ServedLora {
  const refuse = (why: string): never => {
    throw new UsageError(`--lora-modules: ${why}`);
  };
  const shelf = new AdapterShelf();
  const taken = new Set([...names, ...aliases]);
  const given = [...names].join(', ');
  for (const [name, { path, base }] of Object.entries(loraModules)) {
    const model = base ?? only;
    if (taken.has(name)) refuse(`the model is called ${name}`);
    if (model === null) {
      const json = `{"name": "${name}", "path": "${path}", "base_model_name": "..."}`;
      return refuse(`with several models, say which one ${name} is for: ${json}`);
    }
    if (!names.has(model)) refuse(`${name} is for ${model}, and there is only ${given}`);
    shelf.add({ name, path, base: model, isOfFlags: true });
  }
  return {
    shelf,
    needOf(model) {
      if (shelf.of(model).some(({ isOfFlags }) => isOfFlags)) return 'must';
      if (loraDir === undefined) return 'none';
      return model === only ? 'must' : 'may';
    },
  };
}

/** Checks that an adapter exists where a flag says, by its small files. @throws ModelError */
export async function checkAdapter(adapter: string): Promise<void> {
  if (await isElsewhere(adapter)) return;
  const [config = ''] = await adapterFiles(resolve(adapter));
  parseAdapterConfig(await readJson(config), config);
}

/**
 * Whether a model has room for live adapters.
 * @throws UsageError saying why it can't have any, where it must
 */
export function takesLora(
  need: LoraNeed,
  model: 'buildable' | 'export',
  { device }: Pick<ChosenDevice, 'device'>,
  precision: Precision,
  hears: boolean,
): boolean {
  if (need === 'none') return false;
  const why = obstacle();
  if (why === null) return true;
  if (need === 'must') throw new UsageError(why);
  return false;

  function obstacle(): string | null {
    const flags = '--lora-modules and --lora-dir';
    if (hears) {
      return '--lora-modules or --lora-dir is not for a model that hears: transcriptions pick no adapters';
    }
    if (model === 'export') {
      return `${flags} need a model in safetensors or GGUF, not an ONNX export`;
    }
    if (precision === 'int8-static') {
      return `${flags} need another precision: int8-static smooths what they read`;
    }
    if (device.name === 'cpu') return null;
    return `${flags} need the CPU, not ${device.name}; --adapter goes everywhere`;
  }
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
 * The adapters of a model that is being loaded: those that the shelf has for it.
 * @throws ModelError when one of the command line can't be had
 */
export async function openAdapters(
  { loraDir, maxLoraRank }: Pick<LoraOptions, 'loraDir' | 'maxLoraRank'>,
  { shelf, base }: Pick<ServedAdaptersOptions, 'shelf' | 'base'>,
  config: DecoderConfig,
  kernels: KernelSet,
  logger: Logger,
): Promise<{ readonly adapters: ServedAdapters; readonly restore: () => Promise<void> }> {
  const cache = defaultCacheDirectory();
  const ready = (folder: string) => prepareLiveAdapter(folder, config, maxLoraRank, kernels, cache);
  // Those of a command line are where the operator says, elsewhere too; those of requests in one
  // folder: a download would fill the disk, and read with the operator's token what is private.
  const prepare: PrepareAdapter = async ({ path, isOfFlags }) => {
    if (isOfFlags) return ready(await localAdapterFolder(path));
    if (loraDir === undefined || isRemote(path)) {
      throw new InvalidRequestError('adapters are loaded from --lora-dir only', 'lora_path');
    }
    try {
      return await ready(joinUntrusted(resolve(loraDir), path, 'the request'));
    } catch (error) {
      const isAnswer = error instanceof ModelError || error instanceof UntrustedPathError;
      if (isAnswer) throw new InvalidRequestError(error.message, 'lora_path');
      throw error;
    }
  };
  const adapters = new ServedAdapters({ shelf, base, prepare });
  const restore = () =>
    adapters.restore((adapter, reason) =>
      logger.warn({ model: base, adapter, reason }, 'a LoRA adapter is not there any more'),
    );
  await restore();
  return { adapters, restore };
}
