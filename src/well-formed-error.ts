/**
 * An error whose message quotes what came from outside. That may have been cut within a character, and no
 * answer and no file could hold the half of one.
 */
export class WellFormedError extends Error {
  constructor(message?: string, options?: ErrorOptions) {
    super(message?.toWellFormed(), options);
  }
}
