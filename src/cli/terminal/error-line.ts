import { isSystemError, reasonOf } from '../../files/system-error.ts';
import { UserError } from '../../user-error.ts';

/**
 * Describes an error in one line for the person at the terminal. Null for a fault of this program: then
 * the stack is wanted.
 */
export function errorLine(error: unknown): string | null {
  return error instanceof UserError || isSystemError(error) ? reasonOf(error) : null;
}
