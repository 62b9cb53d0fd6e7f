import type { Precision } from '../build/manifest.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { StoredLayout, WeightSource } from '../huggingface/weights.ts';
import { keptIn } from '../native/native-format.ts';
import { sharedLayout } from '../quantize/stored-blocks.ts';
import { layerMatrices } from './layer-matrices.ts';

/** The integers that a checkpoint's layers are stored in, which a build of this precision keeps. */
export interface StoredPrecision {
  readonly precision: Extract<Precision, 'int8' | 'int4'>;
  /** Whether our own kernels have such weights. */
  readonly isNative: boolean;
  /** Such as `4 bits in blocks of 128`. */
  readonly description: string;
}

/** Null where not all layers are stored in integers of as many bits. */
export function storedPrecision(
  config: DecoderConfig,
  weights: WeightSource,
): StoredPrecision | null {
  let first: StoredLayout | null = null;
  let isNative = true;
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const source of layerMatrices(config, layer)) {
      const layout = sharedLayout(weights, source);
      if (layout === null || layout.bits !== (first ?? layout).bits) return null;
      isNative &&= keptIn(layout, source.columns) !== null;
      first ??= layout;
    }
  }
  if (first === null) return null;
  const { bits, blockSize, hasZeroPoints, order } = first;
  const where = blockSize >= config.hiddenSize ? 'rows' : `blocks of ${blockSize}`;
  const details = [hasZeroPoints && 'zero points', order && 'columns in another order'];
  const rest = details.filter(Boolean).join(' and ');
  return {
    precision: bits === 4 ? 'int4' : 'int8',
    isNative,
    description: `${bits} bits in ${where}${rest && ` with ${rest}`}`,
  };
}
