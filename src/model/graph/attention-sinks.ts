import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { layerTensorNames } from '../families/family.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import type { FloatType } from '../quantize/weight-format.ts';

/** Adds every layer's sinks, if the family has any: scores of each head, besides those of keys. */
export function declareSinks(
  graph: GraphBuilder,
  { family, numLayers, numHeads }: DecoderConfig,
  weights: WeightSource,
  type: FloatType,
): void {
  for (let layer = 0; layer < numLayers; layer++) {
    const { sinks } = layerTensorNames(family, layer);
    if (sinks === null) continue;
    floatInitializer(graph, sinks, [numHeads], type, () => weights.get(sinks, [numHeads]));
  }
}

/** Name of a layer's sinks; an empty one if there are none. */
export function sinksOf({ family }: DecoderConfig, layer: number): string {
  return layerTensorNames(family, layer).sinks ?? '';
}
