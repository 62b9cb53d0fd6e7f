import type { Family } from '../families/family.ts';
import type { HuggingFaceConfig } from './config-schema.ts';

/** See DecoderConfig. */
interface Scales {
  readonly rmsNormEps: number;
  readonly embeddingScale: number;
  readonly logitScale: number;
}

/**
 * Factors of embeddings and logits. Outputs of layers are not multiplied by the residual multiplier:
 * everything before them is divided by it. The norms that read the sum give the same, if what they add to
 * its mean square is divided too.
 */
export function parseScales(hf: HuggingFaceConfig, { scalesEmbedding }: Family): Scales {
  const residual = hf.residual_multiplier ?? depthScale(hf);
  const embedding = scalesEmbedding ? Math.sqrt(hf.hidden_size) : (hf.embedding_multiplier ?? 1);
  const divisor = hf.logits_scaling ?? hf.hidden_size / (hf.dim_model_base ?? hf.hidden_size);
  return {
    rmsNormEps: hf.rms_norm_eps / residual ** 2,
    embeddingScale: embedding / residual,
    logitScale: hf.logit_scale ?? 1 / divisor,
  };
}

/** MiniCPM's residual multiplier. */
function depthScale({ scale_depth: scale, num_hidden_layers: layers }: HuggingFaceConfig): number {
  return scale ? scale / Math.sqrt(layers) : 1;
}
