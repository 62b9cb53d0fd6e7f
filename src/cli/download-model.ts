import { resolve } from 'node:path';
import { defaultCacheDirectory } from '../model/build/cache-directory.ts';
import { pullHubAdapter } from '../model/hub/hub-adapter.ts';
import { type PickVariant, pullHubModel } from '../model/hub/hub-model.ts';
import type { HubPullOptions } from '../model/hub/hub-pull.ts';
import { hubAccess, isHubReference, parseHubReference } from '../model/hub/hub-repository.ts';
import { withProgressBar } from './progress-bar.ts';

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
  return pullHubModel(parseHubReference(reference), { ...pullOptions(onProgress), pickVariant });
}

function pullOptions(onProgress: (done: number, total: number) => void): HubPullOptions {
  return {
    access: hubAccess(),
    cacheDirectory: defaultCacheDirectory(),
    onProgress,
    onOffline: (reason) => console.error(`chairlift: ${reason}: taking what is downloaded`),
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
 * The folder of an adapter that the operator names: itself, or where `hf:owner/name` was downloaded to.
 * @throws ModelError when it can't be had
 */
export async function localAdapterFolder(adapter: string): Promise<string> {
  if (!isHubReference(adapter)) return resolve(adapter);
  const reference = parseHubReference(adapter);
  return withProgressBar(`downloading ${reference.id}`, (onProgress) =>
    pullHubAdapter(reference, pullOptions(onProgress)),
  );
}
