import { layerTensorNames, numbered } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { changedWeights, type WeightSource } from '../huggingface/weights.ts';

/**
 * A checkpoint in whose layers each head has norm weights of its own: these as one vector, head by head. Checkpoints
 * have them as a matrix, or as many vectors. As it is in models without such norms.
 */
export function joinedHeadNorms(config: DecoderConfig, weights: WeightSource): WeightSource {
  const { family, numLayers, numHeads, numKvHeads, headDim } = config;
  if (family.tensors.layer.headNorms?.over !== 'each head') return weights;
  const counts = new Map<string, number>();
  for (let layer = 0; layer < numLayers; layer++) {
    const { headNorms } = layerTensorNames(family, layer);
    counts.set(`${headNorms?.query}.weight`, numHeads);
    counts.set(`${headNorms?.key}.weight`, numKvHeads);
  }
  return changedWeights(weights, {
    async get(name, shape) {
      const count = counts.get(name);
      if (count === undefined) return weights.get(name, shape);
      if (!name.includes('*')) return weights.get(name, [count, headDim]);
      const joined = new Float32Array(count * headDim);
      for (let head = 0; head < count; head++) {
        const values = await weights.get(numbered(name, head), [headDim]);
        joined.set(values, head * headDim);
      }
      return joined;
    },
  });
}
