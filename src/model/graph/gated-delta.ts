import { int64s } from '../../onnx/int64s.ts';
import { ofLayer } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { GatedDelta } from '../huggingface/recurrent-config.ts';
import { emitActivation } from './activation.ts';
import { emitConvolution } from './convolution.ts';
import type { DecoderOps } from './decoder-ops.ts';
import { fusedParts, type LinearInput, type LinearLayer, type MixerLayers } from './linear.ts';
import { addDecays, addVector, emitRecurrence, splitColumns } from './recurrence.ts';
import { emitRmsNorm } from './rms-norm.ts';
import type { GroupPrefix } from './token-packing.ts';

/** The linear layers around a layer's delta rule: of what is convolved and what gates it, of its steps, and after it. */
export function gatedDeltaLayers(
  config: DecoderConfig,
  delta: GatedDelta,
  layer: number,
): MixerLayers {
  const { family, hiddenSize } = config;
  const { channels, numHeads, keyHeads, keyDim, valueDim } = delta;
  const names = namesOf(family);
  const full = (name: string) => ofLayer(family, layer, name);
  const prefix = `layers.${layer}.delta`;
  const width = numHeads * valueDim;
  const keys = keyHeads * keyDim;
  const read = { inFeatures: hiddenSize, bias: false };
  const narrow = narrowLayers(config, delta, layer);
  const inputs = narrow ? [keys, keys, width, narrow.outputGates.inFeatures] : [channels, width];
  const gates = [numHeads, narrow?.decays.inFeatures ?? numHeads];
  return {
    input: {
      ...read,
      name: `${prefix}.input`,
      parts: fusedParts(names.input.map(full), inputs),
    },
    gates: {
      ...read,
      name: `${prefix}.gates`,
      parts: fusedParts(names.gates.map(full), gates),
    },
    ...(narrow && { inner: [narrow.outputGates, narrow.decays] }),
    output: {
      name: `${prefix}.output`,
      inFeatures: width,
      parts: [{ tensor: full(names.output), outFeatures: hiddenSize }],
      bias: false,
    },
  };
}

/** The linear layers from narrower values to what gates heads, and to what they forget. */
interface NarrowLayers {
  readonly outputGates: LinearLayer;
  readonly decays: LinearLayer;
}

/** Null where there are none: each head decays as a whole. */
function narrowLayers(
  { family }: DecoderConfig,
  { numHeads, keyDim, valueDim, narrowWidth }: GatedDelta,
  layer: number,
): NarrowLayers | null {
  const { narrow } = namesOf(family);
  if (narrow === undefined || narrowWidth === null) return null;
  const linear = (name: keyof NarrowLayers, ofHead: number): LinearLayer => ({
    name: `layers.${layer}.delta.${name}`,
    inFeatures: narrowWidth,
    parts: [{ tensor: ofLayer(family, layer, narrow[name]), outFeatures: numHeads * ofHead }],
    bias: false,
  });
  return { outputGates: linear('outputGates', valueDim), decays: linear('decays', keyDim) };
}

/** Outputs of a layer's first two products. */
interface DeltaInputs extends Pick<LinearInput, 'rowsLike'> {
  /** [tokens, n], what is convolved, and what gates the heads, or the narrower value that this comes from. */
  readonly input: string;
  /** [tokens, n], what heads learn, and what they forget, or the narrower value that this comes from. */
  readonly gates: string;
}

/**
 * Adds a layer's delta rule.
 * @returns the name of [tokens, heads * value_dim]
 */
export function emitGatedDelta(
  ops: DecoderOps,
  delta: GatedDelta,
  groups: readonly GroupPrefix[],
  layer: number,
  given: DeltaInputs,
): string {
  const { kernel, channels, numHeads, keyHeads, keyDim, valueDim, epsilon } = delta;
  const { graph, config } = ops;
  const names = namesOf(config.family);
  const full = (name: string) => ofLayer(config.family, layer, name);
  const width = numHeads * valueDim;
  const narrow = narrowLayers(config, delta, layer);
  const [packed = '', outputGates = ''] = splitColumns(ops, given.input, [
    ['Packed', channels],
    ['OutputGates', narrow?.outputGates.inFeatures ?? width],
  ]);
  const [first = '', ...others] = names.convolution.map(full);
  const convolved = emitConvolution(
    ops,
    {
      layer,
      tensors: [first, ...others],
      channels,
      kernel,
      bias: false,
      activation: 'silu',
      isGated: false,
    },
    groups,
    packed,
  );
  const decays = addDecays(
    ops,
    full(names.decay),
    numHeads,
    narrow ? [1, 1, numHeads, 1] : [numHeads],
  );
  const stepBias = addVector(ops, full(names.stepBias), numHeads * (narrow ? keyDim : 1));
  const gates = narrow ? widenDecays(ops, numHeads, narrow.decays, given) : given.gates;
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

  const shape = (name: string, columns: number) => int64s(graph, `${read}/${name}`, -1, columns);
  // Not one of those that may multiply by 1 plus their weight.
  const weight = addVector(ops, `${full(names.norm)}.weight`, valueDim);
  const heads = graph.node(`${read}/Heads`, 'Reshape', [read, shape('by_head', valueDim)]);
  const normalized = emitRmsNorm(graph, `${read}/Norm`, heads, weight, epsilon);
  const flat = graph.node(`${read}/Flat`, 'Reshape', [normalized, shape('flat', width)]);
  const { rowsLike } = given;
  const shares = narrow
    ? graph.node(`${outputGates}/Sigmoid`, 'Sigmoid', [
        ops.linear(narrow.outputGates, { value: outputGates, rowsLike }),
      ])
    : emitActivation(graph, outputGates, 'silu');
  return graph.node(`${read}/Gated`, 'Mul', [flat, shares]);
}

/** Returns the name of [tokens, heads + heads * key_dim], what heads learn, and what each of their dimensions forgets. */
function widenDecays(
  ops: DecoderOps,
  numHeads: number,
  decays: LinearLayer,
  { gates, rowsLike }: DeltaInputs,
): string {
  const [learned = '', value = ''] = splitColumns(ops, gates, [
    ['Learned', numHeads],
    ['Forgotten', decays.inFeatures],
  ]);
  const wide = ops.linear(decays, { value, rowsLike });
  return ops.graph.node(`${gates}/Wide`, 'Concat', [learned, wide], { attributes: { axis: 1n } });
}

function namesOf({ recurrence }: DecoderConfig['family']) {
  if (recurrence?.kind !== 'gated delta') throw new TypeError('no gated delta rule');
  return recurrence.tensors;
}
