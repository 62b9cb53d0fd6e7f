import type { DecoderConfig } from '../huggingface/config.ts';
import { attentionLayers } from './attention-layers.ts';
import { gatedDeltaLayers } from './gated-delta.ts';
import { recurrenceOf } from './layer-kinds.ts';
import type { MixerLayers } from './linear.ts';
import { selectiveScanLayers } from './selective-scan.ts';
import { convolutionLayers } from './short-convolution.ts';

/** Those of a layer's attention, or of what has a state in its place. */
export function mixerLayers(config: DecoderConfig, layer: number): MixerLayers {
  const recurrence = recurrenceOf(config, layer);
  switch (recurrence?.kind) {
    case 'short convolution':
      return convolutionLayers(config, recurrence, layer);
    case 'gated delta':
      return gatedDeltaLayers(config, recurrence, layer);
    case 'selective scan':
      return selectiveScanLayers(config, recurrence, layer);
    case undefined: {
      const { queryKeyValue: input, output } = attentionLayers(config, layer);
      return { input, gates: null, output };
    }
  }
}
