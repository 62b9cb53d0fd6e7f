/** What operators ask of models. */
import { z } from 'zod';
import { shortText } from './fields.ts';

/** The body of /models/load and /models/unload. */
export const modelBody = z.looseObject({ model: shortText.min(1) });
