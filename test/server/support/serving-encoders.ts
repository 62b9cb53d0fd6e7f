import type { AnyRuntime } from '../../../src/server/runtimes.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import type { TestServerOptions } from './test-server.ts';

/** Options of a server whose models are these, all loaded at its start. */
export function servingOf(...models: readonly AnyRuntime[]): TestServerOptions {
  return {
    models: models.map(({ model }) => modelDefinition(model.id, {}, { preload: true })),
    runtimes: Object.fromEntries(models.map((runtime) => [runtime.model.id, runtime])),
  };
}
