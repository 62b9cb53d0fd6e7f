import { WellFormedError } from './well-formed-error.ts';

/**
 * A failure whose cause is outside of this program, such as a file, a flag or the network: its message
 * alone is for the person at the terminal, where a stack would only hide it.
 */
export class UserError extends WellFormedError {
  override readonly name: string = this.constructor.name;
}
