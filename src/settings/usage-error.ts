import { UserError } from '../user-error.ts';

/** The command line, the environment or the configuration file is wrong: exit code 2. */
export class UsageError extends UserError {}
