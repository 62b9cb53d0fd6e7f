import { defaultCacheDirectory } from '../model/build/cache-directory.ts';
import { type PickVariant, pullHubModel } from '../model/hub/hub-model.ts';
import { hubAccess, isHubReference, parseHubReference } from '../model/hub/hub-repository.ts';
import { withProgressBar } from './progress-bar.ts';

/**
 * The folder that a `--model` names: itself, or where `hf:owner/name` was downloaded to, with a
 * progress bar on stderr.
 * @param pickVariant which of an export's graphs to download
 * @throws ModelError when the model can't be had
 */
export async function localModelFolder(model: string, pickVariant: PickVariant): Promise<string> {
  if (!isHubReference(model)) return model;
  const reference = parseHubReference(model);
  return withProgressBar(`downloading ${reference.id}`, (onProgress) =>
    pullHubModel(reference, {
      access: hubAccess(),
      cacheDirectory: defaultCacheDirectory(),
      pickVariant,
      onProgress,
      onOffline: (reason) => console.error(`chairlift: ${reason}: taking what is downloaded`),
    }),
  );
}
