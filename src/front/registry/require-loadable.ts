/** Whether a model that is not loaded may be loaded for a request. */
import { cannotLoad, ModelUnavailableError } from './errors.ts';
import type { Runtime } from './loaded-model.ts';
import type { ModelControl } from './model-control.ts';
import type { ModelEntry } from './model-entry.ts';

/** A load that failed is not tried again for requests before this. */
const RETRY_MS = 5000;

/** @throws ModelUnavailableError saying why it may not */
export function requireLoadable<R extends Runtime>(
  { definition: { name }, loading, failure, failedAt }: ModelEntry<R>,
  control: ModelControl,
): void {
  if (loading !== null) {
    if (control === 'auto') return;
    const message = `Model \`${name}\` is ${loading.state}.`;
    throw new ModelUnavailableError(message, name, 'model_loading');
  }
  const isRecent = performance.now() - failedAt < RETRY_MS;
  if (failure !== null && (control !== 'auto' || isRecent)) throw cannotLoad(name, failure);
  if (control !== 'auto') {
    const message = `Model \`${name}\` is not loaded.`;
    throw new ModelUnavailableError(message, name, 'model_not_loaded');
  }
}

/** @throws ModelUnavailableError for one whose load has failed */
export function requireLoaded<R extends Runtime>({
  definition: { name },
  loaded,
  failure,
}: ModelEntry<R>): void {
  if (loaded === null && failure !== null) throw cannotLoad(name, failure);
}
