import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { ModelError } from '../../model/model-error.ts';
import { pullHubAdapter } from '../../model/hub/hub-adapter.ts';
import { cachedFolder, type PickVariant, pullConfig, pullHubModel } from '../../model/hub/hub-model.ts';
import { type HubPullOptions, totalBytes } from '../../model/hub/hub-pull.ts';
import {
  type HubListing,
  type HubReference,
  isHubReference,
  listHubFiles,
  parseHubReference,
} from '../../model/hub/hub-repository.ts';
import { usedHub } from '../../model/hub/used-hub.ts';
import { hasImageTokens } from '../../model/vision/mmproj.ts';
import { hubReferenceOf, isOnHub } from './find-model.ts';
import { withProgressBar } from '../progress/progress-bar.ts';

/**
 * Downloads a model of the hub into the cache, or finds it there.
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
  return pullHubModel(parseHubReference(reference), {
    ...pullOptions(onProgress),
    pickVariant,
    wantsMmproj: hasImageTokens,
  });
}

/**
 * Asks the hub for the size of a model, without downloading it.
 * @returns bytes of all its files; null where it is downloaded, or may not be asked for
 * @throws ModelError
 */
export async function askForModel(reference: string): Promise<number | null> {
  const parsed = parseHubReference(reference);
  if ((await cachedFolder(parsed, defaultCacheDirectory())) !== null) return null;
  return totalBytes((await listModel(parsed)).files);
}

/**
 * Downloads the config.json of a model that is not on this machine, and nothing else of it.
 * @param folder that it goes to
 * @throws ModelError
 */
export async function downloadConfig(reference: HubReference, folder: string): Promise<void> {
  await pullConfig(reference, await listModel(reference), usedHub(), folder);
}

/** @throws ModelError */
async function listModel(reference: HubReference): Promise<HubListing> {
  const access = usedHub();
  if (access.isOffline === true) throw new ModelError(`${reference.id} is not on this machine`);
  try {
    return await listHubFiles(reference, access);
  } catch (error) {
    if (error instanceof ModelError) throw error;
    throw new ModelError(`${access.endpoint} cannot be reached for ${reference.id}`, {
      cause: error,
    });
  }
}

function pullOptions(onProgress: (done: number, total: number) => void): HubPullOptions {
  return {
    access: usedHub(),
    cacheDirectory: defaultCacheDirectory(),
    onProgress,
    onOffline: (reason) => console.error(`chairlift: ${reason}; using what was downloaded before`),
  };
}

/**
 * The folder or GGUF file that a `--model` names: itself, or where `hf:owner/name` was downloaded to,
 * with a progress bar on stderr.
 * @param pickVariant which of an export's graphs to download
 * @throws ModelError when the model can't be had
 */
export async function localModelFolder(model: string, pickVariant: PickVariant): Promise<string> {
  if (!isHubReference(model)) return model;
  const { id } = parseHubReference(model);
  return withProgressBar(`downloading ${id}`, (onProgress) =>
    downloadModel(model, pickVariant, onProgress),
  );
}

/**
 * The folder of an adapter that the operator names: itself, or where `owner/name` was downloaded to.
 * @throws ModelError when it can't be had
 */
export async function localAdapterFolder(adapter: string): Promise<string> {
  const isHere = (await stat(adapter).catch(() => null)) !== null;
  const hub = isHere || !(await isOnHub(adapter)) ? null : hubReferenceOf(adapter);
  if (hub === null) return resolve(adapter);
  const reference = parseHubReference(hub);
  return withProgressBar(`downloading ${reference.id}`, (onProgress) =>
    pullHubAdapter(reference, pullOptions(onProgress)),
  );
}
