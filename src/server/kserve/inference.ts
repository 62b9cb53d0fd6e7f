/** From a checked request to the model that answers it, over REST and gRPC alike. */
import type { Caller } from '../../front/caller.ts';
import type { ServerContext } from '../context.ts';
import { requireServing } from '../generation/start-generation.ts';
import {
  type AcquiredModel,
  acquireNamed,
  leased,
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

interface AcquiredInference {
  readonly model: InferenceModel;
  readonly release: () => void;
}

/** A model of any kind, until it is released. @throws as the registry does */
async function acquireInference(
  context: ServerContext,
  target: Target,
  caller: Caller,
): Promise<AcquiredInference> {
  const acquiring = acquireNamed(context, registryName(target), caller);
  return leased(acquiring, (lease) => inferenceModel(context, lease));
}

function inferenceModel(context: ServerContext, lease: NamedLease): AcquiredInference {
  const { runtime, definition, release } = lease;
  switch (runtime.kind) {
    case 'text': {
      const acquired = modelOf(context, { ...lease, runtime });
      return { model: textModel(acquired.model), release: acquired.release };
    }
    case 'encoder':
      return { model: encoderModel(context, definition, runtime), release };
    case 'tensors':
      return { model: tensorModel(context, definition, runtime), release };
  }
}

/** Name of a model's version in the registry. @param version empty for the one that serves */
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
  const { model, release } = await acquireInference(context, target, caller);
  try {
    return await action(model);
  } finally {
    release();
  }
}

/** A model that generates text. @throws ApiError 400 for one that does not; as the registry does */
export async function acquireTextModel(
  context: ServerContext,
  target: Target,
  caller: Caller,
): Promise<AcquiredModel> {
  const acquiring = acquireNamed(context, registryName(target), caller);
  return leased(acquiring, (lease) => modelOf(context, requireText(lease)));
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
  const { model, release } = await acquireInference(context, request, caller);
  try {
    yield* await model.stream(request, caller);
  } finally {
    release();
  }
}
