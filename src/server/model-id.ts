import type { ModelInfo } from '../front/registry/model-entry.ts';

/** Names of models that have several versions. */
export function severalVersions(all: readonly Pick<ModelInfo, 'name'>[]): ReadonlySet<string> {
  const seen = new Set<string>();
  return new Set(all.flatMap(({ name }) => (seen.size === seen.add(name).size ? [name] : [])));
}

/**
 * Clients' name for a version of a model: the model's name, if it has no other version.
 * @param several names of models with several versions
 */
export function modelIdOf(
  several: ReadonlySet<string>,
  { name, version }: Pick<ModelInfo, 'name' | 'version'>,
): string {
  return several.has(name) ? `${name}@${version}` : name;
}
