/** What operators ask of models. */
import { z } from 'zod';
import { LOG_LEVELS } from '../../observability/log-levels.ts';
import { shortText } from './fields.ts';

/** The body of /models/load and /models/unload. */
export const modelBody = z.looseObject({ model: shortText.min(1) });

/** The body of /admin/log-level. */
export const logLevelBody = z.looseObject({ level: z.enum(LOG_LEVELS) });

/** The query of /admin/status. */
export const statusQuery = z.looseObject({
  /** Unix time in milliseconds; with it the last hour is told, as far as it is newer. */
  since: z.coerce.number().min(0).optional(),
});
