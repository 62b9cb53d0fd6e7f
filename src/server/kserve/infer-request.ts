/** Requests to a model through tensors, and its responses. */
import type { Tensor } from './tensor.ts';

export type ParameterValue = string | number | boolean | bigint;
export type Parameters = Readonly<Record<string, ParameterValue>>;

/** An output that a request wants; it gets all if it names none. */
export interface RequestedOutput {
  readonly name: string;
  readonly parameters: Parameters;
}

export interface InferRequest {
  readonly model: string;
  /** Empty for the one that the server picks. */
  readonly version: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly RequestedOutput[];
}

export interface InferResponse {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly outputs: readonly Tensor[];
  /** No further one follows. */
  readonly isFinal: boolean;
}
