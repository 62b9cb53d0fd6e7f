import { describe, expect, it } from 'vitest';
import { layerMatrices } from '../../../src/model/graph/layer-matrices.ts';
import { lmHeadSource } from '../../../src/model/graph/vocabulary-sources.ts';
import { type DecoderConfig, parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { type MatrixSource, rowsOf } from '../../../src/model/huggingface/matrix-source.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import type {
  NativeFormat,
  StoredLayout,
  WeightSource,
} from '../../../src/model/huggingface/weights.ts';
import { ownLayerBytes } from '../../../src/model/native/layer-bytes.ts';
import { nativeFormat } from '../../../src/model/native/native-format.ts';
import { storedPrecision } from '../../../src/model/native/stored-precision.ts';

/** All sizes are multiples of 64, so that nothing is padded. */
const config = parseDecoderConfig(PRESETS['smollm2-135m'], 'the shape');

/** Weights of floats, or of one layout. */
function weightsOf(layout: StoredLayout | null): WeightSource {
  return {
    get: () => Promise.reject(new Error('nothing is read')),
    layout: () => layout,
    close: () => Promise.resolve(),
  };
}

/** Bits of integers, and a float32 for each row or a float16 for each block, twice with offsets. */
function bytesIn(source: MatrixSource, { bits, blockSize, hasOffsets }: NativeFormat): number {
  const rows = rowsOf(source);
  const numWeights = rows * source.columns;
  const scales = blockSize === null ? 4 * rows : (2 * numWeights) / blockSize;
  return (numWeights * bits) / 8 + scales * (hasOffsets ? 2 : 1);
}

/** Bytes of the packed matrices of all layers. */
function packedLayers(
  { numLayers }: DecoderConfig,
  weights: WeightSource,
  precision: Parameters<typeof ownLayerBytes>[1],
): number {
  const layers = Array.from({ length: numLayers }, (_, layer) => layerMatrices(config, layer));
  return layers.flat().reduce((sum, source) => {
    const format = nativeFormat(weights, source, precision, numLayers);
    return sum + bytesIn(source, format);
  }, 0);
}

describe('bytes of layers, known before they are built', () => {
  it.each(['int8', 'int8-blocks', 'int4-mixed', 'int4'] as const)(
    'are those of packed matrices in %s',
    (precision) => {
      expect(ownLayerBytes(config, precision)).toBe(
        packedLayers(config, weightsOf(null), precision),
      );
    },
  );

  it.each([
    ['Q4_0', { bits: 4, blockSize: 32, hasZeroPoints: false, order: null }],
    ['Q4_1', { bits: 4, blockSize: 32, hasZeroPoints: false, hasOffsets: true, order: null }],
    ['AWQ', { bits: 4, blockSize: 64, hasZeroPoints: true, order: null }],
  ] as const)('are those of integers that are kept, as of %s', (_name, layout) => {
    const weights = weightsOf(layout);
    const stored = storedPrecision(config, weights);
    const source = lmHeadSource(config);
    const format = nativeFormat(weights, source, 'int4', config.numLayers);
    const lmHead = bytesIn(source, format);
    expect(stored?.bytes).toBe(packedLayers(config, weights, 'int4') + lmHead);
  });
});
