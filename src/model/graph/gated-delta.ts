import { ofLayer } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { GatedDelta } from '../huggingface/recurrent-config.ts';
import { emitActivation } from './activation.ts';
import { emitConvolution } from './convolution.ts';
import type { DecoderOps } from './decoder-ops.ts';
import { fusedParts, type MixerLayers } from './linear.ts';
import { addDecays, addVector, emitRecurrence, splitColumns } from './recurrence.ts';
import { emitRmsNorm } from './rms-norm.ts';
import type { GroupPrefix } from './token-packing.ts';

/** The linear layers around a layer's delta rule: of what is convolved and what gates it, of its steps, and after it. */
export function gatedDeltaLayers(
  { family, hiddenSize }: DecoderConfig,
  { channels, numHeads, valueDim }: GatedDelta,
  layer: number,
): MixerLayers {
  const names = namesOf(family);
  const full = (name: string) => ofLayer(family, layer, name);
  const prefix = `layers.${layer}.delta`;
  const width = numHeads * valueDim;
  const read = { inFeatures: hiddenSize, bias: false };
  return {
    input: {
      ...read,
      name: `${prefix}.input`,
      parts: fusedParts(names.input.map(full), [channels, width]),
    },
    gates: {
      ...read,
      name: `${prefix}.gates`,
      parts: fusedParts(names.gates.map(full), [numHeads, numHeads]),
    },
    output: {
      name: `${prefix}.output`,
      inFeatures: width,
      parts: [{ tensor: full(names.output), outFeatures: hiddenSize }],
      bias: false,
    },
  };
}

/**
 * Adds a layer's delta rule.
 * @param input [tokens, channels + heads * value_dim], what is convolved, and what gates the heads
 * @param gates [tokens, 2 heads]
 * @returns the name of [tokens, heads * value_dim]
 */
export function emitGatedDelta(
  ops: DecoderOps,
  { kernel, channels, numHeads, keyHeads, keyDim, valueDim, epsilon }: GatedDelta,
  groups: readonly GroupPrefix[],
  layer: number,
  input: string,
  gates: string,
): string {
  const { graph, config } = ops;
  const names = namesOf(config.family);
  const full = (name: string) => ofLayer(config.family, layer, name);
  const width = numHeads * valueDim;
  const [packed = '', outputGates = ''] = splitColumns(ops, input, [
    ['Packed', channels],
    ['OutputGates', width],
  ]);
  const convolution = { layer, tensor: full(names.convolution), channels, kernel, bias: false };
  const convolved = emitConvolution(
    ops,
    { ...convolution, activation: 'silu', isGated: false },
    groups,
    packed,
  );
  const decays = addDecays(ops, full(names.decay), numHeads);
  const stepBias = addVector(ops, full(names.stepBias), numHeads);
  const read = emitRecurrence(
    ops,
    {
      layer,
      operator: 'GatedDelta',
      inputs: [convolved, gates, decays, stepBias],
      attributes: {
        num_heads: BigInt(numHeads),
        key_heads: BigInt(keyHeads),
        key_dim: BigInt(keyDim),
        value_dim: BigInt(valueDim),
      },
    },
    groups,
  );

  const shape = (name: string, columns: number) =>
    graph.initializer(`${read}/${name}`, 'int64', [2], BigInt64Array.of(-1n, BigInt(columns)));
  // Not one of those that may multiply by 1 plus their weight.
  const weight = addVector(ops, `${full(names.norm)}.weight`, valueDim);
  const heads = graph.node(`${read}/Heads`, 'Reshape', [read, shape('by_head', valueDim)]);
  const normalized = emitRmsNorm(graph, `${read}/Norm`, heads, weight, epsilon);
  const flat = graph.node(`${read}/Flat`, 'Reshape', [normalized, shape('flat', width)]);
  return graph.node(`${read}/Gated`, 'Mul', [flat, emitActivation(graph, outputGates, 'silu')]);
}

function namesOf({ recurrence }: DecoderConfig['family']) {
  if (recurrence?.kind !== 'gated delta') throw new TypeError('no gated delta rule');
  return recurrence.tensors;
}
