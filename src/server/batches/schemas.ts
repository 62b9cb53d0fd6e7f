/** Schemas of requests about files and batches. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { shortText } from '../schemas/fields.ts';

const MAX_METADATA = 16;
const MIN_SECONDS = 3600;

const seconds = z.coerce.number().pipe(z.int().min(MIN_SECONDS).max(LIMITS.fileSeconds));
const anchor = z.literal('created_at', { error: 'expected `created_at`' });

/** The fields of a form in addition to its file. */
export const uploadFields = z.looseObject({
  purpose: z.enum(['batch', 'vision'], { error: 'expected `batch` or `vision`' }),
  'expires_after[anchor]': anchor.optional(),
  'expires_after[seconds]': seconds.optional(),
});

export const batchBody = z.looseObject({
  input_file_id: shortText,
  endpoint: shortText,
  completion_window: z.literal('24h', { error: 'expected `24h`' }),
  metadata: z
    .custom<object>(
      (value) =>
        typeof value === 'object' && value !== null && Object.keys(value).length <= MAX_METADATA,
      { error: `expected an object of at most ${MAX_METADATA} texts` },
    )
    .pipe(z.record(z.string().max(64), z.string().max(512)))
    .nullish(),
  output_expires_after: z.looseObject({ anchor, seconds }).nullish(),
});
