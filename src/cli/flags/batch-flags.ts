import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import type { FlagSpec } from './flag-spec.ts';
import { byteSize } from './values.ts';

/** Files and batches of clients. */
export const BATCH_FLAGS = {
  batchDir: {
    flags: '--batch-dir <folder>',
    description: 'where /v1/files and /v1/batches keep what they have; one server at a time',
    schema: z.string().min(1).optional(),
    defaultText: 'no batches',
  },
  batchDisk: {
    flags: '--batch-disk <size>',
    description: 'disk for files and results of batches',
    schema: byteSize,
    default: LIMITS.filesBytes,
    defaultText: '4g',
  },
} satisfies Record<string, FlagSpec>;
