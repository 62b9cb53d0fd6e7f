import { ofLayer } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { ShortConvolution } from '../huggingface/recurrent-config.ts';
import { emitConvolution } from './convolution.ts';
import type { DecoderOps } from './decoder-ops.ts';
import type { LinearLayer, MixerLayers } from './linear.ts';
import type { GroupPrefix } from './token-packing.ts';

/** The linear layers around a layer's convolution: of gates B and C and the input x, and what comes after it. */
export function convolutionLayers(
  { family, hiddenSize }: DecoderConfig,
  { bias }: ShortConvolution,
  layer: number,
): MixerLayers {
  const linear = (name: string, tensor: string, outFeatures: number): LinearLayer => ({
    name: `layers.${layer}.convolution.${name}`,
    inFeatures: hiddenSize,
    parts: [{ tensor: ofLayer(family, layer, tensor), outFeatures }],
    bias,
  });
  const { input, output } = namesOf(family);
  return {
    input: linear('input', input, 3 * hiddenSize),
    gates: null,
    output: linear('output', output, hiddenSize),
  };
}

/** Adds a layer's convolution: [tokens, 3 hidden], which are B, C and x, become [tokens, hidden]. */
export function emitShortConvolution(
  ops: DecoderOps,
  { kernel, channels, bias }: ShortConvolution,
  groups: readonly GroupPrefix[],
  layer: number,
  input: string,
): string {
  const tensor = ofLayer(ops.config.family, layer, namesOf(ops.config.family).convolution);
  const shape = { layer, channels, kernel, bias };
  return emitConvolution(
    ops,
    { ...shape, tensors: [tensor], activation: 'none', isGated: true },
    groups,
    input,
  );
}

function namesOf({ recurrence }: DecoderConfig['family']) {
  if (recurrence?.kind !== 'short convolution') throw new TypeError('no short convolutions');
  return recurrence.tensors;
}
