/** Bodies and queries of operators' requests. */
import { z } from 'zod';
import { LOG_LEVELS } from '../../observability/log-levels.ts';
import { shortText } from './fields.ts';

/** The body of /models/load and /models/unload. */
export const modelBody = z.looseObject({ model: shortText.min(1) });

/** The body of /admin/log-level. */
export const logLevelBody = z.looseObject({ level: z.enum(LOG_LEVELS) });

/** The query of /sleep, and its body. */
export const sleepFields = z.looseObject({
  /** vLLM's levels: both give the memory of weights and KV cache back. */
  level: z.coerce.number('expected 1 or 2').int('expected 1 or 2').min(1).max(2).optional(),
  /** Fate of requests that run: they end first. */
  mode: z.literal('wait', 'only "wait" is supported: requests that run end first').optional(),
});

/** The query of /admin/status. */
export const statusQuery = z.looseObject({
  /**
   * Unix time in milliseconds: the answer has the part of the last hour that is newer. Without it, no
   * history.
   */
  since: z.coerce.number().min(0).optional(),
});
