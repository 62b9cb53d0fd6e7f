import type { FlagSpec } from './flag-spec.ts';
import { byteSize, seconds } from './values.ts';

/** Flags of caches for answers and vectors. */
export const CACHE_FLAGS = {
  responseCache: {
    flags: '--response-cache <size>',
    description: 'memory for answers to requests that always have the same answer; 0 keeps none',
    schema: byteSize,
    default: 0,
  },
  embeddingCache: {
    flags: '--embedding-cache <size>',
    description: 'memory for vectors of texts; 0 keeps none',
    schema: byteSize,
    default: 0,
  },
  responseCacheTtl: {
    flags: '--response-cache-ttl <seconds>',
    description: 'how long answers and vectors are kept',
    schema: seconds,
    default: 3600,
  },
} satisfies Record<string, FlagSpec>;
