import { type GraphBuilder, NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';
import { MadeOnce } from '../quantize/make-matrix.ts';
import { type MatrixSource, rowsOf } from '../quantize/matrix-source.ts';
import type { Activation } from '../huggingface/config.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import type { NativeFormat, WeightSource } from '../huggingface/weights.ts';
import { BEST_OUTPUT } from './best.ts';
import { PackedLayout } from './packed-matrix.ts';

/** An RMS normalization before a product. */
export interface NormBefore {
  /** Name of its weights [columns]. */
  readonly weight: string;
  readonly epsilon: number;
}

/** What one node computes besides the product, in this order. */
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
  /** Of the 8-bit integers that inputs become; each block of a row has its own if left out. */
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
 */
export function emitNativeLinear(
  graph: GraphBuilder,
  weights: WeightSource,
  source: MatrixSource,
  format: NativeFormat,
  output: string,
  input: string,
  { norm, bias, added, gate, residual, step, wantsLogits }: LinearFusion = {},
): string {
  const { name, columns } = source;
  const rows = rowsOf(source);
  const isGated = gate !== undefined;
  const layout = new PackedLayout(rows, columns, isGated);
  const { numPlaces, padded } = layout;
  const { bits, blockSize, hasOffsets } = format;
  const made = new MadeOnce(weights, { kind: 'native', source, ...format, isGated });
  const valuesName = `${name}.weight_packed${bits}`;
  const valuesShape = [numPlaces, (padded * bits) / 8];
  const values = graph.initializer(valuesName, 'uint8', valuesShape, async () => {
    return (await made.load()).values;
  });
  const shape = blockSize === null ? [numPlaces] : [numPlaces, padded / blockSize];
  const type = blockSize === null ? 'float' : 'float16';
  const scales = floatInitializer(graph, `${name}.weight_scales`, shape, type, async () => {
    return (await (hasOffsets ? made.load() : made.loadLast())).scales;
  });
  const inputs = [
    ...[input, values, scales, norm?.weight ?? '', '', residual ?? ''],
    ...[wantsLogits ?? '', '', added ?? ''],
  ];
  if (hasOffsets) {
    inputs[7] = floatInitializer(graph, `${name}.weight_offsets`, shape, type, async () => {
      return (await made.loadLast()).offsets ?? new Float32Array();
    });
  }
  if (bias) {
    inputs[4] = floatInitializer(graph, `${name}.bias`, [numPlaces], 'float', async () =>
      layout.place(await bias()),
    );
  }
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
