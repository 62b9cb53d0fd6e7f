import { PackedLayout } from '../../src/model/quantize/packed-layout.ts';
import { makePacked } from '../../src/model/quantize/packed-matrix.ts';
import { dequantize } from '../../src/model/quantize/stored-blocks.ts';
import type {
  NativeFormat,
  StoredIntegers,
  StoredLayout,
  WeightSource,
} from '../../src/model/huggingface/weights.ts';
import { floats, type NodeValue, randomNumbers } from './native-node.ts';

/** How a checkpoint's integers lie. */
export interface StoredBlocks {
  readonly bits: 4 | 8;
  readonly blockSize: number;
  /** Beside the scales. */
  readonly stores?: 'zero points' | 'offsets' | undefined;
}

/** A matrix as a checkpoint has it. */
export interface Matrix {
  /** By row. */
  readonly values: Float32Array;
  readonly stored: { readonly layout: StoredLayout; readonly integers: StoredIntegers } | null;
}

export function weightSource({ values, stored }: Matrix): WeightSource {
  const source = { get: async () => values, close: async () => {} };
  if (stored === null) return source;
  return { ...source, layout: () => stored.layout, integers: async () => stored.integers };
}

/** Integers of the whole range, and scales and offsets that float16 has. */
export function storedMatrix(
  rows: number,
  columns: number,
  { bits, blockSize, stores }: StoredBlocks,
): Matrix {
  const layout = {
    bits,
    blockSize,
    hasZeroPoints: stores === 'zero points',
    hasOffsets: stores === 'offsets',
    order: null,
  };
  const blocks = rows * Math.ceil(columns / blockSize);
  const random = randomNumbers(2, rows * columns, 2 ** (bits - 1));
  const integers = {
    values: Uint8Array.from(random, (x) => Math.floor(x) & (2 ** bits - 1)),
    scales: Float32Array.from(randomNumbers(6, blocks), (x) => Math.round(x * 64) / 1024),
    zeroPoints: layout.hasZeroPoints
      ? Uint8Array.from(randomNumbers(7, blocks), (x) => 2 ** (bits - 1) + Math.round(3 * x))
      : null,
    ...(layout.hasOffsets && {
      offsets: Float32Array.from(randomNumbers(8, blocks), (x) => Math.round(x * 64) / 128),
    }),
  };
  return { values: dequantize(integers, layout, columns), stored: { layout, integers } };
}

export const floatMatrix = (values: Float32Array): Matrix => ({ values, stored: null });

/** Inputs of a node of native/ for a matrix. */
export interface PackedValues {
  readonly layout: PackedLayout;
  readonly values: NodeValue;
  readonly scales: NodeValue;
  readonly offsets: NodeValue | undefined;
}

export async function packedValues(
  matrix: Matrix,
  columns: number,
  format: NativeFormat,
  isGated = false,
): Promise<PackedValues> {
  const rows = matrix.values.length / columns;
  const source = { name: 'm', tensors: [{ name: 'm', rows }], columns };
  const task = { kind: 'native', source, ...format, isGated } as const;
  const packed = await makePacked(weightSource(matrix), task);
  const { bits, blockSize } = format;
  const layout = new PackedLayout(rows, columns, isGated);
  const { numPlaces, padded } = layout;
  const { scales } = packed;
  const halves = (data: Uint16Array, size: number): NodeValue => ({
    type: 'float16',
    shape: [numPlaces, padded / size],
    data,
  });
  return {
    layout,
    values: {
      type: 'uint8',
      shape: [numPlaces, (padded * bits) / 8],
      data: packed.values,
    },
    scales:
      blockSize === null
        ? floats([numPlaces], scales as Float32Array)
        : halves(scales as Uint16Array, blockSize),
    offsets:
      packed.offsets && blockSize !== null
        ? halves(packed.offsets as Uint16Array, blockSize)
        : undefined,
  };
}
