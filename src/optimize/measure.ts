import { countParameters } from '../model/huggingface/parameter-count.ts';
import { layerMatrices } from '../model/graph/layer-matrices.ts';
import type { LayerwiseDecoder } from './calibration/layerwise-decoder.ts';
import type { Checkpoint } from './folder/checkpoint.ts';

/** Measurements of a model. */
export interface Measures {
  readonly parameters: number;
  /** Share of the layers' matrices that is 0. */
  readonly zeros: number;
  /** In float32 with the weights as they are stored. */
  readonly perplexity: number;
}

/** Measures a model with texts, layer by layer. */
export async function measure(
  { config, weights }: Pick<Checkpoint, 'config' | 'weights'>,
  decoder: LayerwiseDecoder,
  texts: readonly Int32Array[],
  onProgress: (done: number, total: number) => void,
): Promise<Measures> {
  let zeros = 0;
  let values = 0;
  let hidden = await decoder.embed(texts);
  for (let layer = 0; layer < config.numLayers; layer++) {
    onProgress(layer, config.numLayers);
    ({ hidden } = await decoder.layer(layer, hidden));
    for (const { tensors, columns } of layerMatrices(config, layer)) {
      for (const { name, rows } of tensors) {
        const matrix = await weights.get(name, [rows, columns]);
        values += matrix.length;
        zeros += matrix.reduce((count, value) => count + Number(value === 0), 0);
      }
    }
  }
  const { nats, tokens } = await decoder.negativeLogLikelihood(texts, hidden);
  onProgress(config.numLayers, config.numLayers);
  return {
    parameters: countParameters(config),
    zeros: zeros / values,
    perplexity: Math.exp(nats / tokens),
  };
}
