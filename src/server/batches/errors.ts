/** Errors about the limits of a client's files and batches. */
import { ApiError } from '../errors.ts';

/** Error if the client's share of the disk is used up. */
export function storageFull(): ApiError {
  const message = 'Your files have as much of the disk as you may have; delete some first.';
  return new ApiError(429, 'rate_limit_error', message, {
    code: 'storage_full',
    headers: { 'x-should-retry': 'false' },
  });
}

export function tooManyBatches(limit: number): ApiError {
  const message = `You have batches that have not ended, and may have ${limit}; wait until one has.`;
  return new ApiError(429, 'rate_limit_error', message, {
    code: 'too_many_batches',
    headers: { 'x-should-retry': 'false' },
  });
}
