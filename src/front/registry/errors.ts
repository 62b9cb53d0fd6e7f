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
  readonly retryAfterSeconds = 5;
  /** Name of the model; null where no single model is to blame. */
  readonly model: string | null;
  /** For programs, as `code` of the API's error. */
  readonly code:
    | 'service_unavailable'
    | 'server_sleeping'
    | 'model_load_failed'
    | 'model_loading'
    | 'model_not_loaded';

  constructor(
    message: string,
    model: string | null = null,
    code: ModelUnavailableError['code'] = 'service_unavailable',
  ) {
    super(message);
    this.model = model;
    this.code = code;
  }
}

export function cannotLoad(name: string, failure: string): ModelUnavailableError {
  const message = `Model \`${name}\` can't be loaded: ${failure}`;
  return new ModelUnavailableError(message, name, 'model_load_failed');
}

/** The mode of `--model-control` rules out what an operator asks for. */
export class ModelControlError extends Error {
  override readonly name = 'ModelControlError';
}
