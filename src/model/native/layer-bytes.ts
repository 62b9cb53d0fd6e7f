import type { DecoderConfig } from '../huggingface/config.ts';
import { type MatrixSource, rowsOf } from '../huggingface/matrix-source.ts';
import type { NativeFormat } from '../huggingface/weights.ts';
import { layerMatrices } from '../graph/layer-matrices.ts';
import { nativeFormat, type NativePrecision } from './native-format.ts';

/** Weights that are not stored in integers. */
const FLOATS = {
  get: () => Promise.reject(new TypeError('formats depend on no values')),
  close: () => Promise.resolve(),
};

/** Bytes of all layers' matrices whose weights our own kernels round themselves. */
export function ownLayerBytes(config: DecoderConfig, precision: NativePrecision): number {
  let bytes = 0;
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const source of layerMatrices(config, layer)) {
      bytes += matrixBytes(source, nativeFormat(FLOATS, source, precision, config.numLayers));
    }
  }
  return bytes;
}

/** Bytes of a matrix: float32 scales of rows, float16 scales and offsets of blocks. */
export function matrixBytes(
  source: MatrixSource,
  { bits, blockSize, hasOffsets }: Omit<NativeFormat, 'isStored'>,
): number {
  const rows = rowsOf(source);
  const numWeights = rows * source.columns;
  const scales = blockSize === null ? 4 * rows : (2 * numWeights) / blockSize;
  return (numWeights * bits) / 8 + scales * (hasOffsets ? 2 : 1);
}
