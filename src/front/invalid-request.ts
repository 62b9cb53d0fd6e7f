import { UserError } from '../user-error.ts';

/**
 * Request that cannot be served; the message is for the client. The caller gives the field names, so
 * that each API's client reads the names of the fields it sent.
 */
export class InvalidRequestError extends UserError {
  /** Path of the field at fault, such as `messages.0.role`. */
  readonly field: string | null;
  readonly code: string | null;

  constructor(message: string, field: string | null = null, code: string | null = null) {
    super(message);
    this.field = field;
    this.code = code;
  }
}
