import type { GgufNames } from '../families/family.ts';
import type { GgufTrait } from '../families/gguf-names.ts';
import { KNOWN_FAMILIES } from '../families/known-families.ts';
import { ModelError } from '../model-error.ts';

/** How a GGUF file's model differs from the same in safetensors. */
export interface Architecture extends GgufNames {
  /** `model_type` in config.json. */
  readonly modelType: string;
  /** Name in `layer_types` of layers that do not attend, if the family has such. */
  readonly recurrentType: string | undefined;
  /** Layers are one part each; see Family. */
  readonly hasSingleBlocks: boolean;
  /** Layers are not alike; see Family. */
  readonly isVaried: boolean;
}

const ARCHITECTURES: readonly Architecture[] = KNOWN_FAMILIES.flatMap(({ family, gguf }) =>
  gguf === null
    ? []
    : [
        {
          ...gguf,
          modelType: family.modelType,
          recurrentType: family.recurrence?.layerTypes[0],
          hasSingleBlocks: family.hasSingleBlocks === true,
          isVaried: family.varied !== undefined,
        },
      ],
);

/**
 * @param name `general.architecture`
 * @param traits what sets a file apart from others of that architecture
 * @throws {ModelError} naming it, if no graph is built of such models
 */
export function architectureOf(
  name: string,
  traits: Readonly<Record<GgufTrait, boolean>>,
  path: string,
): Architecture {
  const named = ARCHITECTURES.filter(({ architecture }) => architecture === name);
  const found =
    named.find(({ ifFileHas }) => ifFileHas !== undefined && traits[ifFileHas]) ??
    named.find(({ ifFileHas }) => ifFileHas === undefined);
  if (found !== undefined) return found;
  const supported = new Set(ARCHITECTURES.map(({ architecture }) => architecture));
  throw new ModelError(
    `${path}: general.architecture "${name}" is not supported ` +
      `(supported: ${[...supported].join(', ')})`,
  );
}
