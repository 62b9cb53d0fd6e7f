import type { Precision } from '../manifest.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { NativeFormat, StoredLayout, WeightSource } from '../huggingface/weights.ts';
import { storedFormat } from './native-format.ts';
import { partsOf } from '../huggingface/matrix-source.ts';
import { packedBytes } from '../quantize/packed-matrix.ts';
import { sharedLayout } from '../quantize/stored-blocks.ts';
import { layerMatrices } from '../graph/layer-matrices.ts';
import { vocabularySources } from '../graph/vocabulary-sources.ts';

/** The integers that a checkpoint's layers are stored in, which a build of this precision keeps. */
export interface StoredPrecision {
  readonly precision: Extract<Precision, 'int8' | 'int4'>;
  /** Whether our own kernels have such weights. */
  readonly isNative: boolean;
  /** Blocks have offsets, whose products cost more than rounding to 8 bits loses. */
  readonly hasOffsets?: boolean;
  /** Such as `4 bits in blocks of 128`; several where layers differ. */
  readonly description: string;
  /** Memory of all matrices with our own kernels, the vocabulary's included; too little unless `isNative`. */
  readonly bytes: number;
}

/** Null where not all layers are stored in integers that one precision keeps. */
export function storedPrecision(
  config: DecoderConfig,
  weights: WeightSource,
): StoredPrecision | null {
  const descriptions = new Set<string>();
  const precisions = new Set<4 | 8>();
  let [isNative, hasOffsets, bytes] = [true, false, 0];
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const whole of layerMatrices(config, layer)) {
      const isWhole = sharedLayout(weights, whole) !== null;
      let bits: 4 | 8 | undefined;
      for (const source of isWhole ? [whole] : partsOf(whole)) {
        const layout = sharedLayout(weights, source);
        if (layout === null) return null;
        bits = layout.keptIn ?? layout.bits;
        precisions.add(bits);
        hasOffsets ||= layout.hasOffsets === true;
        descriptions.add(describe(layout, config.hiddenSize));
      }
      const format = storedFormat(weights, whole, bits);
      isNative &&= format !== null;
      bytes += format === null ? 0 : packedBytes({ source: whole, isGated: false, ...format });
    }
  }
  const [bits] = precisions;
  if (precisions.size !== 1) return null;
  for (const source of vocabularySources(config)) {
    const format = storedFormat(weights, source) ?? OWN_VOCABULARY;
    bytes += packedBytes({ source, isGated: false, ...format });
  }
  return {
    precision: bits === 4 ? 'int4' : 'int8',
    isNative,
    hasOffsets,
    description: [...descriptions].join(', '),
    bytes,
  };
}

/** Form of embeddings and LM heads that are floats beside layers of integers. */
const OWN_VOCABULARY: NativeFormat = {
  bits: 8,
  blockSize: 32,
  hasOffsets: false,
  isStored: false,
};

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
