import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { ModelError } from '../../model/model-error.ts';
import { pullAdapter } from '../../model/download/remote-adapter.ts';
import {
  cachedFolder,
  pullConfig,
  pullModel,
} from '../../model/download/remote-model.ts';
import type { PickVariant } from '../../model/export/export-folder.ts';
import { exportBelow } from '../../model/folder/export-below.ts';
import { type PullFilesOptions, totalBytes } from '../../model/download/pull-files.ts';
import type { Remote, RemoteListing } from '../../model/download/remote.ts';
import { isRemote, remoteOf } from '../../model/remotes/remotes.ts';
import { hasImageTokens } from '../../model/vision/mmproj.ts';
import { referenceOf, isElsewhere } from './find-model.ts';
import { withProgressBar } from '../progress/progress-bar.ts';

/**
 * Downloads a model of the hub or of a bucket into the cache, or finds it there.
 * @param pickVariant which of an export's graphs to download
 * @param onProgress called with bytes
 * @returns its folder; of a GGUF model the file
 * @throws ModelError when the model can't be had
 */
export function downloadModel(
  reference: string,
  pickVariant: PickVariant,
  onProgress: (done: number, total: number) => void,
): Promise<string> {
  return pullModel(remoteOf(reference), {
    ...pullOptions(onProgress),
    pickVariant,
    wantsMmproj: hasImageTokens,
  });
}

/**
 * Asks for the size of a model, without downloading it.
 * @returns bytes of all its files; null where it is downloaded, or may not be asked for
 * @throws ModelError
 */
export async function askForModel(reference: string): Promise<number | null> {
  const remote = remoteOf(reference);
  if ((await cachedFolder(remote, defaultCacheDirectory())) !== null) return null;
  return totalBytes((await listModel(remote)).files);
}

/**
 * Downloads the config.json of a model that is not on this machine, and nothing else of it.
 * @param folder that it goes to
 * @returns the folder that it is in
 * @throws ModelError
 */
export async function downloadConfig(remote: Remote, folder: string): Promise<string> {
  return pullConfig(remote, await listModel(remote), folder);
}

/** @throws ModelError */
async function listModel(remote: Remote): Promise<RemoteListing> {
  const { id, endpoint } = remote;
  if (remote.isOffline) throw new ModelError(`${id} is not on this machine`);
  try {
    return await remote.list();
  } catch (error) {
    if (error instanceof ModelError) throw error;
    throw new ModelError(`${endpoint} cannot be reached for ${id}`, { cause: error });
  }
}

function pullOptions(onProgress: (done: number, total: number) => void): PullFilesOptions {
  return {
    cacheDirectory: defaultCacheDirectory(),
    onProgress,
    onOffline: (reason) => console.error(`chairlift: ${reason}; using what was downloaded before`),
  };
}

/**
 * The folder or GGUF file that a `--model` names: itself, or where a model of elsewhere was downloaded to,
 * with a progress bar on stderr.
 * @param pickVariant which of an export's graphs to download
 * @throws ModelError when the model can't be had
 */
export async function localModelFolder(model: string, pickVariant: PickVariant): Promise<string> {
  if (!isRemote(model)) return (await exportBelow(model, pickVariant)) ?? model;
  const { id } = remoteOf(model);
  return withProgressBar(`downloading ${id}`, (onProgress) =>
    downloadModel(model, pickVariant, onProgress),
  );
}

/**
 * The folder of an adapter that the operator names: itself, or where one of elsewhere was downloaded to.
 * @throws ModelError when it can't be had
 */
export async function localAdapterFolder(adapter: string): Promise<string> {
  const isHere = (await stat(adapter).catch(() => null)) !== null;
  const reference = isHere || !(await isElsewhere(adapter)) ? null : referenceOf(adapter);
  if (reference === null) return resolve(adapter);
  const remote = remoteOf(reference);
  return withProgressBar(`downloading ${remote.id}`, (onProgress) =>
    pullAdapter(remote, pullOptions(onProgress)),
  );
}
