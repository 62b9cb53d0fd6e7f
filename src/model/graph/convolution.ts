import { NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import type { DecoderOps } from './decoder-ops.ts';
import { stateInputs, stateName } from './decoder-states.ts';
import { statePoolName } from './state-names.ts';
import type { GroupPrefix } from './token-packing.ts';

/** A convolution of single channels, over a token and those before it. */
export interface Convolution {
  readonly layer: number;
  /**
   * Names of its weights without `.weight` and `.bias`: each has as many of the channels, [n, 1, kernel], one after
   * the other.
   */
  readonly tensors: readonly [string, ...string[]];
  readonly channels: number;
  readonly kernel: number;
  readonly bias: boolean;
  readonly activation: 'none' | 'silu';
  /** The input is B, C and x side by side, and the output C * convolution(B * x). */
  readonly isGated: boolean;
}

/** Adds a convolution over [tokens, channels], or three times as many where it is gated: [tokens, channels]. */
export function emitConvolution(
  { graph, weights }: DecoderOps,
  { layer, tensors, channels, kernel, bias, activation, isGated }: Convolution,
  groups: readonly GroupPrefix[],
  input: string,
): string {
  const read = async (end: string, ...ofChannel: readonly number[]): Promise<Float32Array> => {
    const shape = [channels / tensors.length, ...ofChannel];
    const parts: Float32Array[] = [];
    for (const tensor of tensors) parts.push(await weights.get(`${tensor}${end}`, shape));
    return joined(parts);
  };
  const [first] = tensors;
  const weight = floatInitializer(graph, `${first}.weight`, [channels, kernel], 'float', () =>
    read('.weight', 1, kernel),
  );
  const added = bias
    ? floatInitializer(graph, `${first}.bias`, [channels], 'float', () => read('.bias'))
    : '';
  const state = stateName(layer, 'convolution');
  const name = `${state}/ShortConvolution`;
  const pool = statePoolName('past_states', state);
  const inputs = [input, weight, added, pool, ...stateInputs(groups)];
  return graph.node(name, 'ShortConvolution', inputs, {
    domain: NATIVE_DOMAIN,
    outputs: [name, statePoolName('present_states', state)],
    attributes: {
      channels: BigInt(channels),
      kernel: BigInt(kernel),
      activation: activation === 'silu' ? 1n : 0n,
      gated: isGated ? 1n : 0n,
    },
  });
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let first = 0;
  for (const part of parts) {
    all.set(part, first);
    first += part.length;
  }
  return all;
}
