/** Errors that a program catches that has loaded a model. */
import { ChatTemplateError } from '../../front/templates/chat-message.ts';
import { EncoderInputError } from '../../front/embedding/embed-request.ts';
import { TextTooLongError } from '../../front/embedding/encoder-tokenizer.ts';
import { InvalidRequestError } from '../../front/invalid-request.ts';
import { TaskTooCostlyError } from '../../front/prompts/fair-pool.ts';
import { GrammarError } from '../../grammar/grammar-spec.ts';
import { UserError } from '../../user-error.ts';

/** The model was closed, before the call or while it ran. */
export class ModelClosedError extends UserError {
  constructor() {
    super('the model is closed');
  }
}

/** Errors of what was asked. */
const OF_REQUESTS = [
  ChatTemplateError,
  EncoderInputError,
  GrammarError,
  TaskTooCostlyError,
  TextTooLongError,
];

/** Translates an error for the program: one class stands for all faults of a request. */
export function toProgramError(error: unknown): unknown {
  if (!(error instanceof Error) || !OF_REQUESTS.some((type) => error instanceof type)) return error;
  const invalid = new InvalidRequestError(error.message);
  invalid.cause = error;
  return invalid;
}
