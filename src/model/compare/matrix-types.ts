import { layerMatrices } from '../graph/layer-matrices.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/** How many of a checkpoint's matrices are stored as what, such as `BF16`: the most frequent first. */
export function matrixTypes(
  config: DecoderConfig,
  weights: WeightSource,
): [type: string, count: number][] {
  const { family, numLayers, tieWordEmbeddings } = config;
  const { embedding, lmHead } = family.tensors;
  const ends = tieWordEmbeddings ? [embedding] : [embedding, lmHead];
  const layers = Array.from({ length: numLayers }, (_, layer) => layerMatrices(config, layer));
  const tensors = layers.flat().flatMap((source) => source.tensors.map(({ name }) => name));
  const counts = new Map<string, number>();
  for (const name of [...ends.map((end) => `${end}.weight`), ...tensors]) {
    const type = weights.typeOf?.(name) ?? 'floats';
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a);
}
