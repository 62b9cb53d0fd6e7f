import type { Caller } from '../../front/caller.ts';
import type { Prefetched } from '../../front/prefetch/prefetcher.ts';
import type { ServedText } from '../runtimes.ts';

/**
 * Has a prompt computed for the client's own requests. Tokens that were there already cost nothing.
 * @param salt that the requests will name
 * @throws QueueFullError, EngineError, ApiError 429; the signal's reason on abort
 */
export async function chargedPrefetch(
  { cacheSaltOf, prefetcher }: Pick<ServedText, 'cacheSaltOf' | 'prefetcher'>,
  tokenIds: Int32Array,
  salt: string,
  { client, signal, meter }: Caller,
): Promise<Prefetched> {
  const settle = await meter?.charge(tokenIds.length);
  let used = tokenIds.length;
  try {
    const cacheSalt = cacheSaltOf(client, salt);
    const found = await prefetcher.prefetch({ tokenIds, cacheSalt, client }, signal);
    used -= found.numCachedTokens;
    return found;
  } finally {
    await settle?.(used);
  }
}
