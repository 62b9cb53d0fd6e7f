import { int64s } from '../../onnx/int64s.ts';
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
  { channels, numHeads, headDim, bias, outputBias }: SelectiveScan,
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
      bias: outputBias,
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
      tensors: [full(names.convolution)],
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
        num_groups: BigInt(scan.numGroups),
        head_dim: BigInt(headDim),
        state_size: BigInt(stateSize),
        dt_min: steps.least,
        ...(steps.most !== null && { dt_max: steps.most }),
      },
    },
    groups,
  );
  const gate = (value: string) =>
    graph.node(`${read}/Gated`, 'Mul', [value, emitActivation(graph, outputGates, 'silu')]);
  if (scan.norm === 'none') return gate(read);
  const weight = addVector(ops, `${full(names.norm)}.weight`, width);
  const normalize = (value: string) => normalizeGroups(ops, scan, `${read}/Norm`, value, weight);
  return scan.norm === 'before gates' ? gate(normalize(read)) : normalize(gate(read));
}

/** Adds the norm of each group's heads together. @param weight name of [heads * head_dim] */
function normalizeGroups(
  { graph }: DecoderOps,
  { numHeads, headDim, numGroups, epsilon }: SelectiveScan,
  name: string,
  value: string,
  weight: string,
): string {
  if (numGroups === 1) return emitRmsNorm(graph, name, value, weight, epsilon);
  const width = numHeads * headDim;
  const size = width / numGroups;
  const shape = (of: string, ...dims: readonly number[]) => int64s(graph, `${name}/${of}`, ...dims);
  const ones = graph.initializer(`${name}/ones`, 'float', [size], new Float32Array(size).fill(1));
  const byGroup = graph.node(`${name}/ByGroup`, 'Reshape', [
    value,
    shape('by_group', -1, numGroups, size),
  ]);
  const normalized = emitRmsNorm(graph, `${name}/Groups`, byGroup, ones, epsilon);
  const flat = graph.node(`${name}/Flat`, 'Reshape', [normalized, shape('flat', -1, width)]);
  return graph.node(name, 'Mul', [flat, weight]);
}

function namesOf({ recurrence }: DecoderConfig['family']) {
  if (recurrence?.kind !== 'selective scan') throw new TypeError('no selective scan');
  return recurrence.tensors;
}
