import type { ModelDefinition } from '../../front/registry/model-definition.ts';
import type { FoundModel } from './find-model.ts';

/** A model that the operator names, and that stays: it is of no repository. */
export function ownDefinition({ name, source }: FoundModel, instances = 1): ModelDefinition {
  return {
    name,
    version: '1',
    source,
    flags: {},
    instances,
    preload: true,
    keepAliveMs: Infinity,
    fingerprint: '',
    problem: null,
  };
}
