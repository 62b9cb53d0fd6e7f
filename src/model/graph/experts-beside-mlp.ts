import { layerTensorNames, ofLayer } from '../families/family.ts';
import type { ExpertConfig } from '../huggingface/expert-config.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import type { DecoderOps } from './decoder-ops.ts';
import type { NormalizedInput } from './decoder-values.ts';
import { emitExperts } from './experts.ts';
import { mlpLayers } from './mlp-layers.ts';
import { emitRmsNorm } from './rms-norm.ts';

/**
 * The sum of a layer's MLP and its experts, each behind a norm of its own: [rows, hidden].
 * @param input of the MLP
 * @param residual what experts read, through other norms
 */
export function emitBoth(
  ops: DecoderOps,
  experts: ExpertConfig,
  layer: number,
  input: NormalizedInput,
  residual: string,
): string {
  const { graph, config, norms, weights, type } = ops;
  const { family, hiddenSize, rmsNormEps } = config;
  const { rowsLike } = input;
  const beside = family.varied?.besideMlp;
  if (beside === undefined) throw new TypeError('no experts beside an MLP');
  const inFull = (name: string) => ofLayer(family, layer, name);
  const { first, down } = mlpLayers(config, layer);
  const gated = ops.gated(first, input, `layers.${layer}.mlp`);
  const mlp = norms.plain(inFull(beside.mlpNorm), ops.linear(down, { value: gated, rowsLike }));

  const scale = inFull(beside.routerScale);
  const weight = floatInitializer(graph, scale, [hiddenSize], type, async () => {
    const values = await weights.get(scale, [hiddenSize]);
    return values.map((value) => value * hiddenSize ** -0.5);
  });
  const scored = emitRmsNorm(graph, `${scale}/Norm`, residual, weight, rmsNormEps);
  const read = norms.plain(inFull(beside.inputNorm), residual);
  const rows = { value: read, rowsLike };
  const own = emitExperts(graph, config, experts, layer, rows, ops, { value: scored, rowsLike });
  const chosen = norms.plain(inFull(beside.outputNorm), own);
  const name = `${layerTensorNames(family, layer).mlpOutputNorm}/Both`;
  return graph.node(name, 'Add', [mlp, chosen]);
}
