import type { Family } from '../families/family.ts';
import type { HuggingFaceConfig } from './config-schema.ts';

/** Part that a layer is: what mixes tokens, or an MLP or experts. */
export type LayerBlock = 'mixer' | 'mlp';

/** Layer types that are no mixers, in families whose layers are one part each. */
export const MLP_TYPES: readonly string[] = ['mlp', 'moe'];

const LETTERS: Readonly<Record<string, string>> = {
  M: 'linear_attention',
  '*': 'full_attention',
  '-': 'mlp',
  E: 'moe',
};

/** By layer, the part that it is; undefined where layers have both. */
export function layerBlocks(
  { layer_types: types, num_hidden_layers: numLayers }: HuggingFaceConfig,
  { hasSingleBlocks }: Family,
): LayerBlock[] | undefined {
  if (hasSingleBlocks !== true) return undefined;
  return Array.from({ length: numLayers }, (_, layer) =>
    MLP_TYPES.includes(types?.[layer] ?? '') ? 'mlp' : 'mixer',
  );
}

/** Fields with what a pattern of layers says, and a list of them: the types, and how many there are. */
export function withLayerTypes(
  fields: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { hybrid_override_pattern: pattern, layer_types: stated } = fields;
  const types =
    typeof pattern === 'string' && !stated
      ? Array.from(pattern, (letter) => LETTERS[letter] ?? letter)
      : stated;
  if (!Array.isArray(types)) return fields;
  return { num_hidden_layers: types.length, ...fields, layer_types: types };
}
