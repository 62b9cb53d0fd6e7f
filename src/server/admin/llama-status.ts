/** States of models in llama-server's words. */
import type { ModelInfo } from '../../front/registry/model-entry.ts';
import type { ModelState } from '../../front/registry/model-state.ts';
import type { JsonObject } from '../json-object.ts';

const WORDS: Readonly<Record<ModelState, string>> = {
  unloaded: 'unloaded',
  downloading: 'downloading',
  building: 'loading',
  loading: 'loading',
  ready: 'loaded',
  draining: 'unloading',
  failed: 'unloaded',
};

/** The `status` of a model, without the reason of a failure: `/models` needs no key. */
export function llamaStatus({ state }: ModelInfo): JsonObject {
  return { value: WORDS[state], ...(state === 'failed' ? { failed: true } : {}) };
}

/** An event of `/models/sse`. @param id what clients call the model */
export function statusEvent({ state, reason }: ModelInfo, id: string): JsonObject {
  const failure = state === 'failed' ? { failed: true, reason } : {};
  return { model: id, event: 'model_status', data: { status: WORDS[state], ...failure } };
}
