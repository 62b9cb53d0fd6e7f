/**
 * Settings that `build --autotune` found best for a model's shape on this machine, kept in the cache.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { usableCores } from '../../ort/usable-cores.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { writingToCache } from '../../model/cache/cache-error.ts';
import { sha256 } from '../../model/cache/content-hash.ts';
import { KERNEL_SETS, NATIVE_KV_CACHE_DTYPES } from '../../model/manifest.ts';
import type { Options } from '../../settings/options.ts';
import { makeFolder } from '../../files/make-folder.ts';

const settingsSchema = z.object({
  /** Attention and the layout of the KV cache come with them. */
  kernels: z.enum(KERNEL_SETS),
  threads: z.int().positive(),
  maxNumBatchedTokens: z.int().positive(),
});

/** Settings that are tuned. */
export type Settings = z.output<typeof settingsSchema>;

/** Settings used where flags set none. */
const tuningSchema = z.object({ settings: settingsSchema, date: z.string() });

export type Tuning = z.output<typeof tuningSchema>;

/** Raised when the settings' meaning changes. */
const VERSION = 1;

export interface TunedModel {
  /** Configuration of the decoder: weights of another model of the same shape take as long. */
  readonly config: unknown;
  readonly precision: string;
}

type TunedFlags = Options<'kernels' | 'kvCacheDtype' | 'threads'> &
  Partial<Options<'maxNumBatchedTokens' | 'maxNumSeqs'>>;

/** @throws ModelError if the cache can't be written to */
export async function writeTuning(model: TunedModel, tuning: Tuning): Promise<string> {
  const path = tuningPath(model);
  await writingToCache(defaultCacheDirectory(), 'the tuning', async () => {
    await makeFolder(dirname(path));
    await writeFile(`${path}.new`, `${JSON.stringify(tuning, null, 2)}\n`);
    await rename(`${path}.new`, path);
  });
  return path;
}

/** Null where nothing was measured on a machine like this, or the file is damaged. */
export async function readTuning(model: TunedModel): Promise<Tuning | null> {
  const text = await readFile(tuningPath(model), 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    return tuningSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Flags with what was tuned in place of defaults: what somebody gave stays. */
export function withTuning<F extends TunedFlags>(flags: F, tuning: Tuning | null): F {
  if (tuning === null) return flags;
  const { kernels, threads, maxNumBatchedTokens } = tuning.settings;
  // Our own kernels are what `auto` takes anyway, and where there are none it must not fail.
  const takesOthers = kernels === 'onnxruntime' && !NATIVE_KV_CACHE_DTYPES.has(flags.kvCacheDtype);
  return {
    ...flags,
    ...(flags.kernels === 'auto' && takesOthers ? { kernels } : {}),
    ...(flags.threads === 0 ? { threads } : {}),
    maxNumBatchedTokens:
      flags.maxNumBatchedTokens ?? Math.max(maxNumBatchedTokens, flags.maxNumSeqs ?? 1),
  };
}

/** For the banner. */
export function describeTuning({ settings, date }: Tuning): string {
  const threads = `${settings.threads} thread${settings.threads === 1 ? '' : 's'}`;
  return `by build --autotune on ${date.slice(0, 10)}: ${threads}, ${settings.maxNumBatchedTokens} tokens a step`;
}

function tuningPath({ config, precision }: TunedModel): string {
  const machine = `${process.arch} ${cpus()[0]?.model ?? ''} ${usableCores()}`;
  const key = sha256(JSON.stringify({ VERSION, machine, config, precision }));
  return join(defaultCacheDirectory(), 'tuning', `${key}.json`);
}
