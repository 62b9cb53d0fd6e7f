import type { ModelInfo } from '../front/registry/model-entry.ts';

/** Names of models that have several versions. */
export function severalVersions(all: readonly Pick<ModelInfo, 'name'>[]): ReadonlySet<string> {
  const seen = new Set<string>();
  return new Set(all.flatMap(({ name }) => (seen.size === seen.add(name).size ? [name] : [])));
}

/** What clients call a version of a model: its name, where there is no other version. @param several names */
export function modelIdOf(
  several: ReadonlySet<string>,
  { name, version }: Pick<ModelInfo, 'name' | 'version'>,
): string {
  return several.has(name) ? `${name}@${version}` : name;
}
