import type { z } from 'zod';

/** A flag of the command line, which an environment variable can set too. */
export interface FlagSpec {
  readonly flags: string;
  readonly description: string;
  readonly schema: z.ZodType;
  readonly default?: unknown;
  /** May be given several times; the values, which are objects, are merged. */
  readonly isRepeatable?: boolean;
  /** Its value is a key: nobody gets to see it. */
  readonly isSecret?: boolean;
  /** Shown in place of the default's value. */
  readonly defaultText?: string;
}
