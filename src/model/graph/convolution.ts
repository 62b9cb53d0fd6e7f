import { NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import type { DecoderOps } from './decoder-ops.ts';
import { stateInputs, stateName } from './decoder-states.ts';
import { statePoolName } from './state-names.ts';
import type { GroupPrefix } from './token-packing.ts';

/** A convolution of single channels, over a token and those before it. */
export interface Convolution {
  readonly layer: number;
  /** Name of its weights [channels, 1, kernel], without `.weight` and `.bias`. */
  readonly tensor: string;
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
  { layer, tensor, channels, kernel, bias, activation, isGated }: Convolution,
  groups: readonly GroupPrefix[],
  input: string,
): string {
  const weight = floatInitializer(graph, `${tensor}.weight`, [channels, kernel], 'float', () =>
    weights.get(`${tensor}.weight`, [channels, 1, kernel]),
  );
  const added = bias
    ? floatInitializer(graph, `${tensor}.bias`, [channels], 'float', () =>
        weights.get(`${tensor}.bias`, [channels]),
      )
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
