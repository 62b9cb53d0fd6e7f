/** Query and body of /slots/{id}. */
import { z } from 'zod';
import { shortText } from './fields.ts';

/** A name of a file: no path, and nothing that a file system or a terminal would read otherwise. */
const FILENAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

export const slotQuery = z.looseObject({ action: z.enum(['save', 'restore', 'erase']) });

export type SlotQuery = z.infer<typeof slotQuery>;

export const slotBody = z.looseObject({
  model: shortText.nullish(),
  filename: z
    .string()
    .max(128)
    .regex(FILENAME, 'expected a name of letters, digits, `.`, `_` and `-`, without a path')
    .nullish(),
});

export type SlotBody = z.infer<typeof slotBody>;
