/** The bodies of /v2/repository. */
import { z } from 'zod';

export const indexBody = z.looseObject({ ready: z.boolean().nullish() });

export const loadBody = z.looseObject({ parameters: z.record(z.string(), z.unknown()).nullish() });
