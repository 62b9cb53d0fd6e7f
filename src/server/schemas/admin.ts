/** What operators ask of models. */
import { z } from 'zod';
import { LOG_LEVELS } from '../../observability/logger.ts';
import { shortText } from './fields.ts';

/** The body of /models/load and /models/unload. */
export const modelBody = z.looseObject({ model: shortText.min(1) });

/** The body of /admin/log-level. */
export const logLevelBody = z.looseObject({ level: z.enum(LOG_LEVELS) });
