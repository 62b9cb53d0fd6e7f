import { type GraphBuilder, NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';
import type { Activation } from '../huggingface/activation.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import type { NormBefore } from '../graph/decoder-values.ts';
import { BEST_OUTPUT } from './best.ts';
import type { NativeMatrix } from './native-matrix.ts';

/** Steps that one node computes in addition to the product, in this order. */
export interface LinearFusion {
  readonly norm?: NormBefore | undefined;
  /** Loads [rows of the matrix]. */
  readonly bias?: (() => Promise<Float32Array>) | undefined;
  /** The first half of the rows, activated, times the other half. */
  readonly gate?: Gate | undefined;
  /** Name of what adapters add, if they do; see NativeAdapters. */
  readonly added?: string | undefined;
  /** Name of what is added last. */
  readonly residual?: string | undefined;
  /** Step of the 8-bit integers that inputs become; each block of a row has its own if left out. */
  readonly step?: number | undefined;
  /** Name of WANTS_LOGITS, where the product finds the likeliest tokens, too. */
  readonly wantsLogits?: string | undefined;
}

/** As in native/kernels.h. */
const ACTIVATIONS = { silu: 1n, gelu_tanh: 2n } as const;

/** Activations that a product of gates and ups has inside. */
type Gate = keyof typeof ACTIVATIONS;

export function isGate(activation: Activation): activation is Gate {
  return activation in ACTIVATIONS;
}

/**
 * Adds a linear layer of native/: weights of 8 bits by a scale per row or of 4 bits by a scale per block,
 * and activations that are quantized to 8 bits on the way.
 * @param matrix gated where there is a gate
 */
export function emitNativeLinear(
  graph: GraphBuilder,
  { name, rows, columns, format, layout, ...matrix }: NativeMatrix,
  output: string,
  input: string,
  { norm, bias, added, gate, residual, step, wantsLogits }: LinearFusion = {},
): string {
  const { bits, blockSize } = format;
  const biasName = bias
    ? floatInitializer(graph, `${name}.bias`, [layout.numPlaces], 'float', async () =>
        layout.place(await bias()),
      )
    : '';
  const inputs = [
    ...[input, matrix.values, matrix.scales, norm?.weight ?? '', biasName, residual ?? ''],
    ...[wantsLogits ?? '', matrix.offsets ?? '', added ?? ''],
  ];
  while (inputs.at(-1) === '') inputs.pop();
  const operator = bits === 4 ? 'Linear4' : blockSize === null ? 'Linear8' : 'LinearBlocks8';
  return graph.node(output, operator, inputs, {
    domain: NATIVE_DOMAIN,
    outputs: wantsLogits === undefined ? [output] : [output, BEST_OUTPUT],
    attributes: {
      ...(blockSize !== null && { block_size: BigInt(blockSize) }),
      in_features: BigInt(columns),
      out_features: BigInt(gate ? rows / 2 : rows),
      activation: gate ? ACTIVATIONS[gate] : 0n,
      epsilon: norm?.epsilon ?? 0,
      ...(step !== undefined && { step }),
      ...(wantsLogits !== undefined && { finds_best: 1n }),
    },
  });
}
