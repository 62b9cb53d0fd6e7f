import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';
import { keysOf } from './layer-heads.ts';

/**
 * By layer, channels of its MLP.
 * @param keyLayers see DecoderConfig: layers that read another's may have twice as many
 */
export function mlpWidths(
  hf: HuggingFaceConfig,
  keyLayers: readonly number[] | undefined,
  origin: string,
): number[] {
  const numLayers = hf.num_hidden_layers;
  const sizes = hf.shared_intermediate_size ?? hf.intermediate_size ?? 4 * hf.hidden_size;
  if (!Array.isArray(sizes)) {
    const width = hf.block_auto_adjust_ff_dim ? adjusted(sizes, hf, origin) : sizes;
    const isWide = (layer: number) =>
      hf.use_double_wide_mlp && keysOf({ keyLayers }, layer) !== layer;
    return Array.from({ length: numLayers }, (_, layer) => (isWide(layer) ? 2 : 1) * width);
  }
  if (sizes.length === numLayers) return sizes;
  throw new ModelError(
    `${origin}: intermediate_size is of ${sizes.length} layers, and the model has ${numLayers}`,
  );
}

/** LFM2's rule: two thirds of what is said, times a factor, up to the next multiple. */
function adjusted(
  size: number,
  { block_ffn_dim_multiplier: factor, block_multiple_of: multiple }: HuggingFaceConfig,
  origin: string,
): number {
  const exact = Math.trunc((factor ?? 1) * Math.trunc((2 * size) / 3));
  const width = factor === null ? exact : multiple * Math.ceil(exact / multiple);
  if (width > 0 && width <= MODEL_LIMITS.width) return width;
  throw new ModelError(
    `${origin}: MLPs of ${width} channels are not supported (supported: 1 to ${MODEL_LIMITS.width})`,
  );
}
