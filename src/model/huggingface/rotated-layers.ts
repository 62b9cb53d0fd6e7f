import type { Family } from '../families/family.ts';
import type { HuggingFaceConfig } from './config-schema.ts';
import { isSliding } from './sliding-windows.ts';

/** By layer, whether queries and keys have rotary embedding. */
export function rotatedLayers(
  hf: HuggingFaceConfig,
  { windowRope, slidingWindow }: Family,
): boolean[] {
  const flags = hf.no_rope_layers ?? hf.layer_rope_theta;
  const { no_rope_layer_interval: interval } = hf;
  const { position_embedding_type: positions, sliding_window: window } = hf;
  const onlyInWindows = windowRope === 'only' && Boolean(window);
  return Array.from({ length: hf.num_hidden_layers }, (_, layer) => {
    if (positions !== undefined && positions !== 'rope') return false;
    if (onlyInWindows && !isSliding(hf, slidingWindow, layer)) return false;
    const flag = flags?.[layer];
    if (flag !== undefined) return flag !== 0;
    return !interval || (layer + 1) % interval !== 0;
  });
}
