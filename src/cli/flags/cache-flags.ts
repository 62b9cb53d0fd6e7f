import { z } from 'zod';
import type { FlagSpec } from './flag-spec.ts';
import { byteSize } from './values.ts';

const REDIS_URL = /^rediss?:\/\/\S+$/;

/** What is computed once and told several times, and what replicas share. */
export const CACHE_FLAGS = {
  responseCache: {
    flags: '--response-cache <size>',
    description: 'memory for answers to requests that always have the same answer; 0 keeps none',
    schema: byteSize,
    default: 0,
    defaultText: '0',
  },
  embeddingCache: {
    flags: '--embedding-cache <size>',
    description: 'memory for vectors of texts; 0 keeps none',
    schema: byteSize,
    default: 0,
    defaultText: '0',
  },
  responseCacheTtl: {
    flags: '--response-cache-ttl <seconds>',
    description: 'how long answers and vectors are kept',
    schema: z.coerce.number().gt(0),
    default: 3600,
  },
  redis: {
    flags: '--redis <url>',
    description:
      'Redis or Valkey that replicas share: rates, answers and vectors, as far as there are limits and caches',
    schema: z.string().regex(REDIS_URL, 'expected redis://host:port or rediss://').optional(),
    defaultText: 'none',
  },
} satisfies Record<string, FlagSpec>;
