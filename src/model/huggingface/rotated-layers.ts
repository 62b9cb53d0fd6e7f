import type { HuggingFaceConfig } from './config-schema.ts';

/** By layer, whether queries and keys have rotary embedding. */
export function rotatedLayers({
  num_hidden_layers: numLayers,
  no_rope_layers: flags,
  no_rope_layer_interval: interval,
  position_embedding_type: positions,
}: HuggingFaceConfig): boolean[] {
  return Array.from({ length: numLayers }, (_, layer) => {
    if (positions !== undefined && positions !== 'rope') return false;
    const flag = flags?.[layer];
    if (flag !== undefined) return flag !== 0;
    return !interval || (layer + 1) % interval !== 0;
  });
}
