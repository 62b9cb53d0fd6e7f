/** From a checked request to the model that answers it, over REST and gRPC alike. */
import type { Caller } from '../../front/caller.ts';
import type { ModelContext, ServerContext } from '../context.ts';
import { requireServing } from '../generation/start-generation.ts';
import { acquireNamed } from '../model-access.ts';
import type { InferRequest, InferResponse } from './infer-request.ts';
import type { InferenceKind } from './inference-kind.ts';
import { TEXT_GENERATION } from './text-generation.ts';

/** How a model is asked; there is one kind so far. */
export function kindOf(_model: ModelContext): InferenceKind {
  return TEXT_GENERATION;
}

/** What the registry calls a version of a model. @param version empty for the one that serves */
export function registryName(model: string, version: string): string {
  return version === '' ? model : `${model}@${version}`;
}

/** Runs `action` with a model, which stays loaded until it is done. @throws as the registry does */
export async function withNamedModel<T>(
  context: ServerContext,
  { model: name, version }: Pick<InferRequest, 'model' | 'version'>,
  caller: Caller,
  action: (model: ModelContext) => Promise<T>,
): Promise<T> {
  const { model, release } = await acquireNamed(context, registryName(name, version), caller);
  try {
    return await action(model);
  } finally {
    release();
  }
}

/** @throws ApiError, and whatever acquiring a model and generating throw */
export async function infer(
  context: ServerContext,
  request: InferRequest,
  caller: Caller,
): Promise<InferResponse> {
  requireServing(context, caller.client);
  return withNamedModel(context, request, caller, (model) =>
    kindOf(model).infer(model, request, caller),
  );
}

/** The pieces of an answer, which end early when nobody takes them any more. @throws as `infer` */
export async function* streamInfer(
  context: ServerContext,
  request: InferRequest,
  caller: Caller,
): AsyncGenerator<InferResponse, void> {
  requireServing(context, caller.client);
  const name = registryName(request.model, request.version);
  const { model, release } = await acquireNamed(context, name, caller);
  try {
    yield* await kindOf(model).stream(model, request, caller);
  } finally {
    release();
  }
}
