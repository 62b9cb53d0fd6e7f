import type { AttributeValue } from '../../onnx/attributes.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { atLayer } from '../huggingface/layer-heads.ts';
import { SCORE_SCALE } from './rope.ts';

/** The attributes of a layer that GroupQueryAttention and PagedAttention share. */
export function attentionAttributes(
  config: DecoderConfig,
  layer: number,
): Readonly<Record<string, AttributeValue>> {
  const { numHeads, numKvHeads, slidingWindows, attentionSoftcap } = atLayer(config, layer);
  const window = slidingWindows[layer] ?? null;
  return {
    num_heads: BigInt(numHeads),
    kv_num_heads: BigInt(numKvHeads),
    do_rotary: 1n,
    scale: SCORE_SCALE,
    ...(attentionSoftcap === null ? {} : { softcap: attentionSoftcap }),
    ...(window === null ? {} : { local_window_size: BigInt(window) }),
  };
}
