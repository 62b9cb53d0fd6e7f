/** Metadata of the server and its models. */
import type { Caller } from '../../front/caller.ts';
import type { ModelInfo } from '../../front/registry/model-entry.ts';
import type { ServerContext } from '../context.ts';
import { modelNotFound } from '../errors.ts';
import { withInference } from './inference.ts';
import type { InferenceSignature } from './inference-kind.ts';

export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

/** As Triton calls them. */
const EXTENSIONS = [
  'model_repository',
  'model_configuration',
  'binary_tensor_data',
  'statistics',
  'generate',
];

export function serverMetadata({ config }: Pick<ServerContext, 'config'>): ServerMetadata {
  return { name: 'chairlift', version: config.version, extensions: EXTENSIONS };
}

export interface ModelMetadata extends InferenceSignature {
  readonly name: string;
  readonly versions: readonly string[];
}

/** Loads the model if it comes by itself. @throws as the registry does */
export function modelMetadata(
  context: ServerContext,
  name: string,
  version: string,
  caller: Caller,
): Promise<ModelMetadata> {
  return withInference(context, { model: name, version }, caller, ({ key, signature }) => {
    const versions = context.models
      .list()
      .filter((info) => info.name === key.name)
      .map((info) => info.version);
    return { name: key.name, versions, ...signature };
  });
}

/** One version of a model, or all of its versions. @throws ApiError 404 if none exists */
export function modelsOf(
  { models }: Pick<ServerContext, 'models'>,
  name: string,
  version: string,
): readonly ModelInfo[] {
  const found = models
    .list()
    .filter((info) => info.name === name && (version === '' || info.version === version));
  if (found.length === 0) throw modelNotFound(version === '' ? name : `${name}@${version}`);
  return found;
}

/** Whether a request would be served now, without a load. @throws ApiError 404 */
export function isModelReady(context: ServerContext, name: string, version: string): boolean {
  modelsOf(context, name, version);
  return context.models
    .loaded()
    .some(
      ({ definition, runtime }) =>
        definition.name === name &&
        (version === '' || definition.version === version) &&
        runtime.engine.state === 'ready',
    );
}
