import { ofLayer } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { SelectiveScan } from '../huggingface/recurrent-config.ts';
import { emitActivation } from './activation.ts';
import { emitConvolution } from './convolution.ts';
import type { DecoderOps } from './decoder-ops.ts';
import type { MixerLayers } from './linear.ts';
import { addDecays, addVector, emitRecurrence, splitColumns } from './recurrence.ts';
import { emitRmsNorm } from './rms-norm.ts';
import type { GroupPrefix } from './token-packing.ts';

/** The linear layers around a layer's scan: of what gates it, what is convolved and its steps, and after it. */
export function selectiveScanLayers(
  { family, hiddenSize }: DecoderConfig,
  { channels, numHeads, headDim, bias }: SelectiveScan,
  layer: number,
): MixerLayers {
  const names = namesOf(family);
  const full = (name: string) => ofLayer(family, layer, name);
  const width = numHeads * headDim;
  return {
    input: {
      name: `layers.${layer}.scan.input`,
      inFeatures: hiddenSize,
      parts: [{ tensor: full(names.input), outFeatures: width + channels + numHeads }],
      bias,
    },
    gates: null,
    output: {
      name: `layers.${layer}.scan.output`,
      inFeatures: width,
      parts: [{ tensor: full(names.output), outFeatures: hiddenSize }],
      bias,
    },
  };
}

/**
 * Adds a layer's scan.
 * @param input [tokens, heads * head_dim + channels + heads]
 * @returns the name of [tokens, heads * head_dim]
 */
export function emitSelectiveScan(
  ops: DecoderOps,
  scan: SelectiveScan,
  groups: readonly GroupPrefix[],
  layer: number,
  input: string,
): string {
  const { graph, config } = ops;
  const { kernel, channels, numHeads, headDim, stateSize, convolutionBias, steps } = scan;
  const names = namesOf(config.family);
  const full = (name: string) => ofLayer(config.family, layer, name);
  const width = numHeads * headDim;
  const [outputGates = '', packed = '', gates = ''] = splitColumns(ops, input, [
    ['OutputGates', width],
    ['Packed', channels],
    ['Steps', numHeads],
  ]);
  const convolved = emitConvolution(
    ops,
    {
      layer,
      tensor: full(names.convolution),
      channels,
      kernel,
      bias: convolutionBias,
      activation: 'silu',
      isGated: false,
    },
    groups,
    packed,
  );
  const decays = addDecays(ops, full(names.decay), numHeads);
  const [stepBias, skip] = [names.stepBias, names.skip].map((name) =>
    addVector(ops, full(name), numHeads),
  );
  const read = emitRecurrence(
    ops,
    {
      layer,
      operator: 'SelectiveScan',
      inputs: [convolved, gates, decays, stepBias ?? '', skip ?? ''],
      attributes: {
        num_heads: BigInt(numHeads),
        num_groups: 1n,
        head_dim: BigInt(headDim),
        state_size: BigInt(stateSize),
        dt_min: steps.least,
        ...(steps.most !== null && { dt_max: steps.most }),
      },
    },
    groups,
  );
  const gated = graph.node(`${read}/Gated`, 'Mul', [
    read,
    emitActivation(graph, outputGates, 'silu'),
  ]);
  const weight = addVector(ops, `${full(names.norm)}.weight`, width);
  return emitRmsNorm(graph, `${read}/Norm`, gated, weight, scan.epsilon);
}

function namesOf({ recurrence }: DecoderConfig['family']) {
  if (recurrence?.kind !== 'selective scan') throw new TypeError('no selective scan');
  return recurrence.tensors;
}
