import type { ModelInfo } from '../front/registry/model-entry.ts';

/** What clients call a version of a model: its name, where there is no other version. */
export function modelIdOf(
  all: readonly ModelInfo[],
  { name, version }: Pick<ModelInfo, 'name' | 'version'>,
): string {
  const isOnly = all.filter((other) => other.name === name).length === 1;
  return isOnly ? name : `${name}@${version}`;
}
