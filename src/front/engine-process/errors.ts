/** How an engine fails a request. */
import { UserError } from '../../user-error.ts';

/** The engine ended a request, or can't accept one. */
export class EngineError extends UserError {}

/** The request's grammar led the text where it can't go on, or takes too long. */
export class GrammarFaultError extends EngineError {}

/** The engine crashes again and again and accepts nothing for now. */
export class EngineUnavailableError extends EngineError {
  /** When the next try will have been made, at least 1. */
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('the engine is not available');
    this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterSeconds));
  }
}

/** A client took so long to read its answer that the rest was given up. */
export class SlowReaderError extends Error {
  override readonly name = 'SlowReaderError';

  constructor() {
    super('the client reads too slowly; the generation was cancelled');
  }
}
