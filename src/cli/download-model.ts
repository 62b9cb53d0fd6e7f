import { defaultCacheDirectory } from '../model/build/cache-directory.ts';
import { type PickVariant, pullHubModel } from '../model/hub/hub-model.ts';
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
  return pullHubModel(parseHubReference(reference), {
    access: hubAccess(),
    cacheDirectory: defaultCacheDirectory(),
    pickVariant,
    onProgress,
    onOffline: (reason) => console.error(`chairlift: ${reason}: taking what is downloaded`),
  });
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
