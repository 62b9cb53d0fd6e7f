/** Downloads for a server that runs. */
import { UntrustedPathError } from '../../files/untrusted-path.ts';
import { InvalidRequestError } from '../../front/invalid-request.ts';
import type { Runtime } from '../../front/registry/loaded-model.ts';
import type { ModelRegistry } from '../../front/registry/model-registry.ts';
import { ModelError } from '../../model/model-error.ts';
import type { PullModel } from '../../server/context.ts';
import { downloadModel } from '../models/download-model.ts';
import { variantFor, type VariantOptions } from '../choices/export-variant.ts';
import { nameOfModel } from '../models/find-model.ts';
import type { Options } from '../../settings/options.ts';
import { UsageError } from '../../settings/usage-error.ts';

/** Errors that mean that the model is not available, and not that the server is at fault. */
const REFUSALS = [ModelError, UsageError, UntrustedPathError];

/** Adds what is downloaded to `models`, by its name on the hub. */
export function pullInto<R extends Runtime>(
  models: Pick<ModelRegistry<R>, 'add' | 'requireControl'>,
  options: VariantOptions & Options<'instances'>,
): PullModel {
  return async (reference, onProgress, signal) => {
    models.requireControl();
    try {
      const folder = await downloadModel(reference, variantFor(options), (done, total) => {
        if (signal.aborted) throw new ModelError('the download was cancelled');
        onProgress(done, total);
      });
      await models.add({
        name: nameOfModel(reference),
        version: '1',
        source: folder,
        flags: {},
        instances: options.instances,
        preload: false,
        keepAliveMs: null,
        // Its name has the commit.
        fingerprint: folder,
        problem: null,
      });
    } catch (error) {
      if (!(error instanceof Error) || !REFUSALS.some((type) => error instanceof type)) throw error;
      throw new InvalidRequestError(error.message, 'model');
    }
  };
}
