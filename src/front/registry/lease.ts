import type { ModelDefinition } from './model-definition.ts';

/** A model that a request uses; it stays until `release` is called. */
export interface Lease<R> {
  readonly definition: ModelDefinition;
  readonly runtime: R;
  /** May be called several times. */
  readonly release: () => void;
  /** Keeps the model for longer than the lease: until the function that it returns is called. */
  readonly pin: () => () => void;
}
