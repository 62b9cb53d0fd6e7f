import { expect, test } from 'vitest';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';
import { layerMatrices } from '../../../src/model/graph/layer-matrices.ts';
import { nativeFormat, type NativePrecision } from '../../../src/model/native/native-format.ts';

const config = parseDecoderConfig(PRESETS['smollm2-135m'], 'smollm2-135m');
const weights = new RandomWeights(1);

/** By kind of matrix, the layers in which it has these bits. */
function layersWith(precision: NativePrecision, bits: 4 | 8): Record<string, number[]> {
  const found: Record<string, number[]> = {};
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const source of layerMatrices(config, layer)) {
      const format = nativeFormat(weights, source, precision, config.numLayers);
      const kind = source.name.split('.').at(-1) ?? '';
      if (format.bits === bits) (found[kind] ??= []).push(layer);
    }
  }
  return found;
}

test('int4-mixed has 8 bits where 4 lose most, and offsets elsewhere', () => {
  const all = Array.from({ length: 30 }, (_, layer) => layer);
  // The layers of llama.cpp's Q4_K_M.
  const down = [0, 1, 2, 5, 8, 11, 14, 17, 20, 23, 26, 27, 28, 29];
  expect(layersWith('int4-mixed', 8)).toEqual({ qkv: all, down });
  expect(layersWith('int4-mixed', 4)).toEqual({
    output: all,
    gate_up: all,
    down: all.filter((layer) => !down.includes(layer)),
  });
  const output = layerMatrices(config, 0).find(({ name }) => name.endsWith('output'));
  if (output === undefined) throw new Error('no output');
  const format = nativeFormat(weights, output, 'int4-mixed', 30);
  expect(format).toEqual({ bits: 4, blockSize: 32, hasOffsets: true, isStored: false });
});

test.each([
  ['int4', 4],
  ['int8', 8],
  ['int8-blocks', 8],
] as const)('%s has %i bits everywhere', (precision, bits) => {
  const kinds = Object.keys(layersWith(precision, bits));
  expect(kinds).toEqual(['qkv', 'output', 'gate_up', 'down']);
  expect(layersWith(precision, bits === 4 ? 8 : 4)).toEqual({});
});
