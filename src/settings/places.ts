/** Where this process finds models: its cache folder, and how it reaches the hub and buckets. */
import { secretOf } from './secret-file.ts';
import { useBuckets } from '../model/bucket/used-buckets.ts';
import { useHub } from '../model/hub/used-hub.ts';
import type { Options } from './options.ts';

export type PlaceOptions = Partial<
  Options<'cacheDir' | 'offline' | 'hfToken' | 'hfTokenFile' | 'endpointUrl'>
>;

/**
 * Has the whole process use the places of its flags, the processes that it starts included.
 * @throws UsageError
 */
export async function usePlaces(options: PlaceOptions): Promise<void> {
  const { cacheDir, offline = false, endpointUrl = null } = options;
  if (cacheDir !== undefined) process.env['CHAIRLIFT_CACHE'] = cacheDir;
  const token = await secretOf('hf-token', options.hfToken, options.hfTokenFile, String);
  useHub({ token: token ?? null, isOffline: offline });
  useBuckets({ endpoint: endpointUrl, isOffline: offline });
}
