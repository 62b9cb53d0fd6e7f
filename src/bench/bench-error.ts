import { UserError } from '../user-error.ts';

/** A benchmark that cannot run: no server, an unreadable dataset. The message says all. */
export class BenchError extends UserError {}
