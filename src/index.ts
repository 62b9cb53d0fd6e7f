/**
 * Chairlift within a program: `serve` is the server of `chairlift serve`, `loadModel` a model without one.
 * `chairlift/client` has what clients of a server use.
 */
export { EngineError } from './front/engine-process/errors.ts';
export { InvalidRequestError } from './front/invalid-request.ts';
export { QueueFullError } from './front/queue/admission.ts';
export { ModelError } from './model/model-error.ts';
export { ModelClosedError } from './serving/in-process/errors.ts';
export { type LoadOptions, loadModel } from './serving/in-process/load-model.ts';
export type {
  EmbedOptions,
  GenerateOptions,
  Message,
  MessagePart,
  Model,
  Prompt,
  StructuredOutputs,
  TextDelta,
} from './serving/in-process/model.ts';
export { type ServeOptions, type Server, serve } from './serving/in-process/serve.ts';
export { UsageError } from './settings/usage-error.ts';
export { UserError } from './user-error.ts';
