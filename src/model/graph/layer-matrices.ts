import type { DecoderConfig } from '../huggingface/config.ts';
import { layerTensorNames } from '../huggingface/families.ts';
import type { MatrixSource } from '../quantize/matrix-source.ts';
import { fusedParts } from './decoder-parts.ts';

/** A layer's matrices, those that read the same value as one. */
export function layerMatrices(config: DecoderConfig, layer: number): MatrixSource[] {
  const { family, numHeads, numKvHeads, headDim, hiddenSize, intermediateSize } = config;
  const names = layerTensorNames(family, layer);
  const matrix = (
    name: string,
    columns: number,
    tensors: readonly string[],
    sizes: readonly number[],
  ) => ({
    name: `layers.${layer}.${name}`,
    tensors: fusedParts(tensors, sizes).map(({ tensor, outFeatures }) => ({
      name: `${tensor}.weight`,
      rows: outFeatures,
    })),
    columns,
  });
  const heads = [numHeads, numKvHeads, numKvHeads].map((count) => count * headDim);
  return [
    matrix('attention.qkv', hiddenSize, names.queryKeyValue, heads),
    matrix('attention.output', numHeads * headDim, [names.attentionOutput], [hiddenSize]),
    matrix('mlp.gate_up', hiddenSize, names.gateUp, [intermediateSize, intermediateSize]),
    matrix('mlp.down', intermediateSize, [names.down], [hiddenSize]),
  ];
}
