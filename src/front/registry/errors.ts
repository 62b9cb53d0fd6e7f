/** Why a request does not get the model that it names. */

export class UnknownModelError extends Error {
  override readonly name = 'UnknownModelError';
  readonly model: string;
  /** Names that may have been meant. */
  readonly near: readonly string[];

  constructor(model: string, near: readonly string[]) {
    super(`there is no model ${model}`);
    this.model = model;
    this.near = near;
  }
}

/** The model exists and can't be used now. The message is written for clients. */
export class ModelUnavailableError extends Error {
  override readonly name = 'ModelUnavailableError';
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds = 5) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export function cannotLoad(name: string, failure: string): ModelUnavailableError {
  return new ModelUnavailableError(`Model \`${name}\` can't be loaded: ${failure}`);
}

/** The mode of `--model-control` rules out what an operator asks for. */
export class ModelControlError extends Error {
  override readonly name = 'ModelControlError';
}
