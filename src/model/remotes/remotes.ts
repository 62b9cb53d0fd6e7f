/** Models that are downloaded, wherever they lie: what their names mean, and which are here. */
import { BUCKET_FOLDERS, bucketModelIn, bucketRemote } from '../bucket/bucket-remote.ts';
import { isBucketReference, parseBucketReference } from '../bucket/bucket-reference.ts';
import { usedBuckets } from '../bucket/used-buckets.ts';
import { type CachedModel, modelsBelow } from '../download/cached-models.ts';
import type { Remote } from '../download/remote.ts';
import { HUB_FOLDER, hubModelIn, hubRemote } from '../hub/hub-remote.ts';
import { isHubReference, parseHubReference } from '../hub/hub-repository.ts';
import { usedHub } from '../hub/used-hub.ts';

/** Whether a model has to be downloaded: `hf:owner/name`, `s3://bucket/prefix`, `gs://bucket/prefix`. */
export function isRemote(model: string): boolean {
  return isHubReference(model) || isBucketReference(model);
}

/** @throws {ModelError} for a name that is none of a model that is downloaded */
export function remoteOf(model: string): Remote {
  return isBucketReference(model)
    ? bucketRemote(parseBucketReference(model), usedBuckets())
    : hubRemote(parseHubReference(model), usedHub());
}

/** All that were downloaded: those of the hub, then those of buckets, each in order of their ids. */
export async function cachedModels(cacheDirectory: string): Promise<CachedModel[]> {
  const all = await Promise.all([
    modelsBelow(cacheDirectory, HUB_FOLDER, hubModelIn),
    ...BUCKET_FOLDERS.map((scheme) =>
      modelsBelow(cacheDirectory, scheme, (folder) => bucketModelIn(scheme, folder)),
    ),
  ]);
  return all.flat();
}
