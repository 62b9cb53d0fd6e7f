import type { DecoderConfig } from '../huggingface/config.ts';
import type { RecurrentConfig } from '../huggingface/recurrent-config.ts';
import { attentionLayers } from './attention-layers.ts';
import { gatedDeltaLayers } from './gated-delta.ts';
import { attends, recurrenceOf } from './layer-kinds.ts';
import { latentLayers } from './latent-attention.ts';
import type { LinearLayer, MixerLayers } from './linear.ts';
import { selectiveScanLayers } from './selective-scan.ts';
import { convolutionLayers } from './short-convolution.ts';

/** A part of a layer that mixes tokens. */
export interface Mixer extends MixerLayers {
  readonly inner: readonly LinearLayer[];
  /** Properties of its state; null if it attends. */
  readonly recurrence: RecurrentConfig | null;
}

/** Mixers of tokens in a layer: attention, or one with a state in its place, or both, or none. */
export function mixersOf(config: DecoderConfig, layer: number): Mixer[] {
  const mixers: Mixer[] = [];
  const recurrence = recurrenceOf(config, layer);
  if (recurrence !== null) {
    mixers.push({ inner: [], ...recurrentLayers(config, recurrence, layer), recurrence });
  }
  if (!attends(config, layer)) return mixers;
  if (config.latent !== undefined) {
    const { input, query, keyValue, output } = latentLayers(config, config.latent, layer);
    const inner = query === null ? [keyValue] : [query, keyValue];
    mixers.push({ input, gates: null, inner, output, recurrence: null });
  } else {
    const { queryKeyValue: input, output } = attentionLayers(config, layer);
    mixers.push({ input, gates: null, inner: [], output, recurrence: null });
  }
  return mixers;
}

function recurrentLayers(
  config: DecoderConfig,
  recurrence: RecurrentConfig,
  layer: number,
): MixerLayers {
  switch (recurrence.kind) {
    case 'short convolution':
      return convolutionLayers(config, recurrence, layer);
    case 'gated delta':
      return gatedDeltaLayers(config, recurrence, layer);
    case 'selective scan':
      return selectiveScanLayers(config, recurrence, layer);
  }
}
