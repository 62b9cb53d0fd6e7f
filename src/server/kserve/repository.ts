/** Triton's model repository extension. */
import type { ModelState } from '../../front/registry/model-state.ts';
import type { ServerContext } from '../context.ts';
import { badRequest } from '../errors.ts';
import { told } from '../../told.ts';

export interface IndexEntry {
  readonly name: string;
  readonly version: string;
  readonly state: 'READY' | 'LOADING' | 'UNLOADING' | 'UNAVAILABLE';
  readonly reason: string;
}

const STATES: Readonly<Record<ModelState, IndexEntry['state']>> = {
  ready: 'READY',
  downloading: 'LOADING',
  building: 'LOADING',
  loading: 'LOADING',
  draining: 'UNLOADING',
  unloaded: 'UNAVAILABLE',
  failed: 'UNAVAILABLE',
};

/** @param onlyReady leave out what can't be used now */
export function repositoryIndex(
  { models }: Pick<ServerContext, 'models'>,
  onlyReady: boolean,
): readonly IndexEntry[] {
  return models
    .list()
    .map(({ name, version, state, reason }): IndexEntry => ({
      name,
      version,
      state: STATES[state],
      reason: reason ?? (state === 'unloaded' ? 'unloaded' : ''),
    }))
    .filter(({ state }) => !onlyReady || state === 'READY');
}

/**
 * @param parameters names of what the client wants besides
 * @returns when it is ready. @throws UnknownModelError, ModelUnavailableError
 */
export async function loadModel(
  { models }: Pick<ServerContext, 'models'>,
  name: string,
  parameters: readonly string[],
): Promise<void> {
  const [unsupported] = parameters;
  if (unsupported !== undefined) {
    throw badRequest(
      `\`parameters.${told(unsupported, 64)}\`: models are configured in their folders alone.`,
      'parameters',
      'unsupported_parameter',
    );
  }
  await models.load(name);
}

/** @returns when it is out of memory. @throws UnknownModelError */
export async function unloadModel(
  { models }: Pick<ServerContext, 'models'>,
  name: string,
): Promise<void> {
  await models.unload(name);
}
