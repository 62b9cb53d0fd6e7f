/** Stored state of a batch, and its form in OpenAI's API. */
import { z } from 'zod';
import type { JsonObject } from '../json-object.ts';

export const BATCH_STATUSES = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const;

export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** States that nothing follows. */
const ENDS: readonly BatchStatus[] = ['failed', 'completed', 'expired', 'cancelled'];

const batchError = z.object({
  code: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  /** From 1. */
  line: z.number().nullable(),
});

export type BatchError = z.output<typeof batchError>;

const counts = z.object({ total: z.number(), completed: z.number(), failed: z.number() });

const usage = z.object({
  inputTokens: z.number(),
  cachedTokens: z.number(),
  outputTokens: z.number(),
  reasoningTokens: z.number(),
});

export type BatchUsage = z.output<typeof usage>;

export const NO_USAGE: BatchUsage = {
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

/** Times are Unix times in seconds. */
export const batchRecord = z.object({
  id: z.string(),
  client: z.string(),
  /** Account that its tokens are charged to. */
  account: z.string(),
  endpoint: z.string(),
  inputFileId: z.string(),
  /** Where results go; a file by this id is there once the batch has ended, if it has any. */
  outputFileId: z.string(),
  errorFileId: z.string(),
  /** How long they are kept. */
  outputSeconds: z.number(),
  metadata: z.record(z.string(), z.string()).nullable(),
  status: z.enum(BATCH_STATUSES),
  /** Status that it ends with, once its files are written. */
  ending: z.enum(['completed', 'expired', 'cancelled', 'failed']).nullable(),
  /** When it came to each state. */
  times: z.partialRecord(z.enum(BATCH_STATUSES), z.number()),
  createdAt: z.number(),
  expiresAt: z.number(),
  errors: z.array(batchError),
  model: z.string().nullable(),
  /** As of its last state: while it runs they are counted from its files. */
  counts,
  usage,
  hasOutput: z.boolean(),
  hasErrors: z.boolean(),
});

export type BatchRecord = z.output<typeof batchRecord>;

export function hasEnded({ status }: Pick<BatchRecord, 'status'>): boolean {
  return ENDS.includes(status);
}

/** As OpenAI shows it. */
export function describeBatch(batch: BatchRecord): JsonObject {
  const { times, usage: used } = batch;
  const timeOf = (status: BatchStatus) => times[status] ?? null;
  const isOver = hasEnded(batch);
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    model: batch.model,
    errors: batch.errors.length === 0 ? null : { object: 'list', data: batch.errors },
    input_file_id: batch.inputFileId,
    completion_window: '24h',
    status: batch.status,
    output_file_id: isOver && batch.hasOutput ? batch.outputFileId : null,
    error_file_id: isOver && batch.hasErrors ? batch.errorFileId : null,
    created_at: batch.createdAt,
    in_progress_at: timeOf('in_progress'),
    expires_at: batch.expiresAt,
    finalizing_at: timeOf('finalizing'),
    completed_at: timeOf('completed'),
    failed_at: timeOf('failed'),
    expired_at: timeOf('expired'),
    cancelling_at: timeOf('cancelling'),
    cancelled_at: timeOf('cancelled'),
    request_counts: batch.counts,
    usage: {
      input_tokens: used.inputTokens,
      input_tokens_details: { cached_tokens: used.cachedTokens, cache_write_tokens: 0 },
      output_tokens: used.outputTokens,
      output_tokens_details: { reasoning_tokens: used.reasoningTokens },
      total_tokens: used.inputTokens + used.outputTokens,
    },
    metadata: batch.metadata,
  };
}
