import type { DecoderConfig } from '../huggingface/config.ts';
import { layerMatrices } from '../graph/layer-matrices.ts';
import { packedBytes } from '../quantize/packed-matrix.ts';
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
      const format = nativeFormat(FLOATS, source, precision, config.numLayers);
      bytes += packedBytes({ source, isGated: false, ...format });
    }
  }
  return bytes;
}
