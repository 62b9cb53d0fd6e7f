import { z } from 'zod';
import type { JsonObject } from '../json-object.ts';

export const FILE_PURPOSES = ['batch', 'batch_output', 'vision'] as const;

/** Metadata of a file; times are Unix times in seconds. */
export const storedFile = z.object({
  id: z.string(),
  /** Client that uploaded it. */
  client: z.string(),
  purpose: z.enum(FILE_PURPOSES),
  filename: z.string(),
  bytes: z.number(),
  createdAt: z.number(),
  expiresAt: z.number(),
});

export type StoredFile = z.output<typeof storedFile>;

/** As OpenAI shows it. */
export function describeFile(file: StoredFile): JsonObject {
  return {
    id: file.id,
    object: 'file',
    purpose: file.purpose,
    filename: file.filename,
    bytes: file.bytes,
    created_at: file.createdAt,
    expires_at: file.expiresAt,
    status: 'processed',
  };
}
