import type { DecoderConfig } from '../huggingface/config.ts';
import type { MatrixSource } from '../huggingface/matrix-source.ts';
import { crossLayers } from './cross-attention.ts';
import { expertLayers, expertsOf, hasDenseMlp } from './expert-layers.ts';
import { matrixOf } from './linear.ts';
import { layerInputLayers } from './layer-inputs.ts';
import { mixersOf } from './mixer-layers.ts';
import { mlpLayers } from './mlp-layers.ts';
import { residualLayers } from './streams.ts';

/**
 * A layer's matrices, those that read the same value as one; of experts, all but what gives tokens' shares.
 */
export function layerMatrices(config: DecoderConfig, layer: number): MatrixSource[] {
  const inputs = layerInputLayers(config, layer);
  const residual = residualLayers(config, layer);
  const rest = [
    ...(inputs === null ? [] : [inputs.gate, inputs.output]),
    ...(residual === null ? [] : [residual.down, residual.up]),
  ].map(matrixOf);
  const experts = expertsOf(config, layer);
  if (experts === null) return [...tokenMatrices(config, layer), ...rest];
  const { each, shared } = expertLayers(config, experts, layer);
  const all = shared === null ? each : [...each, shared];
  return [
    ...tokenMatrices(config, layer),
    ...rest,
    ...all.flatMap(({ gateUp, down }) => [matrixOf(gateUp), matrixOf(down)]),
  ];
}

/** Those that adapters may change: experts' are not among them, nor those of a layer's own embedding. */
export function tokenMatrices(config: DecoderConfig, layer: number): MatrixSource[] {
  const mixers = mixersOf(config, layer).flatMap(({ input, gates, inner, output }) =>
    [input, ...(gates === null ? [] : [gates]), ...inner, output].map(matrixOf),
  );
  const cross = crossLayers(config, layer);
  if (cross !== null) mixers.push(...[cross.query, cross.keyValue, cross.output].map(matrixOf));
  if (!hasDenseMlp(config, layer)) return mixers;
  const { first, down } = mlpLayers(config, layer);
  return [...mixers, matrixOf(first), matrixOf(down)];
}
