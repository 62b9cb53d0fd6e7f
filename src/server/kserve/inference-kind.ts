/** What the protocol has to know of a kind of model to serve it through tensors. */
import type { Caller } from '../../front/caller.ts';
import type { ModelContext } from '../context.ts';
import type { InferRequest, InferResponse } from './infer-request.ts';
import type { TensorMetadata } from './tensor.ts';

export interface TensorInput extends TensorMetadata {
  readonly isOptional: boolean;
}

export interface InferenceKind {
  /** What the protocol calls the kind of model. */
  readonly platform: string;
  readonly inputs: readonly TensorInput[];
  readonly outputs: readonly TensorMetadata[];
  /** Whether an answer may come in several pieces. */
  readonly streams: boolean;
  /** The whole answer. @throws ApiError 4xx when the request can't be served, and as generations do */
  infer(model: ModelContext, request: InferRequest, caller: Caller): Promise<InferResponse>;
  /** The answer in pieces, one alone where the request wants no stream. @throws as `infer` */
  stream(
    model: ModelContext,
    request: InferRequest,
    caller: Caller,
  ): Promise<AsyncIterable<InferResponse>>;
}
