/** From a checked request to the model that answers it, over REST and gRPC alike. */
import type { Caller } from '../../front/caller.ts';
import type { ServerContext } from '../context.ts';
import { requireServing } from '../generation/start-generation.ts';
import {
  type AcquiredModel,
  acquireNamed,
  modelOf,
  type NamedLease,
  requireText,
} from '../model-access.ts';
import { encoderModel } from './encoder-model.ts';
import type { InferRequest, InferResponse } from './infer-request.ts';
import type { InferenceModel } from './inference-kind.ts';
import { tensorModel } from './tensor-model.ts';
import { textModel } from './text-generation.ts';

type Target = Pick<InferRequest, 'model' | 'version'>;

function inferenceModel(context: ServerContext, lease: NamedLease): InferenceModel {
  const { runtime, definition } = lease;
  switch (runtime.kind) {
    case 'text':
      return textModel(modelOf(context, { ...lease, runtime }));
    case 'encoder':
      return encoderModel(context, definition, runtime);
    case 'tensors':
      return tensorModel(context, definition, runtime);
  }
}

/** What the registry calls a version of a model. @param version empty for the one that serves */
export function registryName({ model, version }: Target): string {
  return version === '' ? model : `${model}@${version}`;
}

/** Runs `action` with a model of any kind, which stays loaded until it is done. @throws as the registry does */
export async function withInference<T>(
  context: ServerContext,
  target: Target,
  caller: Caller,
  action: (model: InferenceModel) => T | Promise<T>,
): Promise<T> {
  const lease = await acquireNamed(context, registryName(target), caller);
  try {
    return await action(inferenceModel(context, lease));
  } finally {
    lease.release();
  }
}

/** A model that generates text. @throws ApiError 400 for one that does not; as the registry does */
export async function acquireTextModel(
  context: ServerContext,
  target: Target,
  caller: Caller,
): Promise<AcquiredModel> {
  const lease = requireText(await acquireNamed(context, registryName(target), caller));
  return { model: modelOf(context, lease), release: lease.release };
}

/** @throws ApiError, and whatever acquiring a model and generating throw */
export async function infer(
  context: ServerContext,
  request: InferRequest,
  caller: Caller,
): Promise<InferResponse> {
  requireServing(context, caller.client);
  return withInference(context, request, caller, (model) => model.infer(request, caller));
}

/** The pieces of an answer, which end early when nobody takes them any more. @throws as `infer` */
export async function* streamInfer(
  context: ServerContext,
  request: InferRequest,
  caller: Caller,
): AsyncGenerator<InferResponse, void> {
  requireServing(context, caller.client);
  const lease = await acquireNamed(context, registryName(request), caller);
  try {
    yield* await inferenceModel(context, lease).stream(request, caller);
  } finally {
    lease.release();
  }
}
