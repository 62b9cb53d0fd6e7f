/** Interface of a model that the protocol serves through tensors. */
import type { Caller } from '../../front/caller.ts';
import type { ModelKey } from '../../front/registry/model-definition.ts';
import type { InferRequest, InferResponse } from './infer-request.ts';
import type { TensorMetadata } from './tensor.ts';

export interface TensorInput extends TensorMetadata {
  readonly isOptional: boolean;
}

/** Metadata of a model. */
export interface InferenceSignature {
  /** Protocol's name for the kind of model. */
  readonly platform: string;
  readonly inputs: readonly TensorInput[];
  readonly outputs: readonly TensorMetadata[];
  /** Whether an answer may come in several pieces. */
  readonly streams: boolean;
  /** Most rows in the first dimension of all tensors; 0 if that is no batch dimension. */
  readonly maxBatchSize: number;
}

/** A loaded model, by whatever it computes. */
export interface InferenceModel {
  readonly key: ModelKey;
  readonly signature: InferenceSignature;
  /** The whole answer. @throws ApiError 4xx when the request can't be served, and as generations do */
  infer(request: InferRequest, caller: Caller): Promise<InferResponse>;
  /** The answer in pieces, one alone where the request wants no stream. @throws as `infer` */
  stream(request: InferRequest, caller: Caller): Promise<AsyncIterable<InferResponse>>;
}

/** The answer of a model that has no pieces of one. */
export async function* inOnePiece(
  answer: () => Promise<InferResponse>,
): AsyncGenerator<InferResponse, void> {
  yield await answer();
}
