import type { Precision } from '../manifest.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { StoredLayout, WeightSource } from '../huggingface/weights.ts';
import { matrixBytes } from './layer-bytes.ts';
import { storedFormat } from './native-format.ts';
import { type MatrixSource, partsOf } from '../huggingface/matrix-source.ts';
import { sharedLayout } from '../quantize/stored-blocks.ts';
import { layerMatrices } from '../graph/layer-matrices.ts';

/** The integers that a checkpoint's layers are stored in, which a build of this precision keeps. */
export interface StoredPrecision {
  readonly precision: Extract<Precision, 'int8' | 'int4'>;
  /** Whether our own kernels have such weights. */
  readonly isNative: boolean;
  /** Blocks have offsets, whose products cost more than rounding to 8 bits loses. */
  readonly hasOffsets?: boolean;
  /** Such as `4 bits in blocks of 128`; several where layers differ. */
  readonly description: string;
  /** Memory of the layers' matrices. */
  readonly bytes: number;
}

/** Null where not all layers are stored in integers that one precision keeps. */
export function storedPrecision(
  config: DecoderConfig,
  weights: WeightSource,
): StoredPrecision | null {
  const descriptions = new Set<string>();
  const precisions = new Set<number>();
  let [isNative, hasOffsets, bytes] = [true, false, 0];
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const whole of layerMatrices(config, layer)) {
      const isWhole = sharedLayout(weights, whole) !== null;
      for (const source of isWhole ? [whole] : partsOf(whole)) {
        const layout = sharedLayout(weights, source);
        if (layout === null) return null;
        const bits = layout.keptIn ?? layout.bits;
        precisions.add(bits);
        hasOffsets ||= layout.hasOffsets === true;
        bytes += bytesOf(source, layout);
        descriptions.add(describe(layout, config.hiddenSize));
        isNative &&= storedFormat(weights, whole, bits) !== null;
      }
    }
  }
  const [bits] = precisions;
  if (precisions.size !== 1) return null;
  return {
    precision: bits === 4 ? 'int4' : 'int8',
    isNative,
    hasOffsets,
    description: [...descriptions].join(', '),
    bytes,
  };
}

function bytesOf(source: MatrixSource, layout: StoredLayout): number {
  const { bits, blockSize, hasZeroPoints, hasOffsets = false } = layout;
  const isRow = blockSize >= source.columns;
  return matrixBytes(source, {
    bits,
    blockSize: isRow ? null : blockSize,
    hasOffsets: hasOffsets || hasZeroPoints,
  });
}

function describe(
  { bits, blockSize, hasZeroPoints, hasOffsets, order }: StoredLayout,
  hiddenSize: number,
): string {
  const where = blockSize >= hiddenSize ? 'rows' : `blocks of ${blockSize}`;
  const details = [
    hasZeroPoints && 'zero points',
    hasOffsets && 'offsets',
    order && 'columns in another order',
  ];
  const rest = details.filter(Boolean).join(' and ');
  return `${bits} bits in ${where}${rest && ` with ${rest}`}`;
}
