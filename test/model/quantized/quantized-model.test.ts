/** Folders that hold what our own quantizer makes of a model: nothing may be rounded a second time. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { CpuDecoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { segmentOf } from '../../../src/engine/step.ts';
import { layerMatrices } from '../../../src/model/graph/layer-matrices.ts';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { emptyBlocks, quantizeRows } from '../../../src/model/quantize/quantize-blocks.ts';
import { quantizeRow } from '../../../src/model/quantize/make-rows.ts';
import { engineRequest, READS_LOGITS } from '../../support/engine-requests.ts';
import { floatTensor, type RawTensor, writeSafetensors } from '../../support/safetensors-writer.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const CONFIG = {
  ...PRESETS.tiny,
  hidden_size: 128,
  intermediate_size: 192,
  head_dim: 32,
};
const SEED = 5;
const IDS = [3, 141, 59, 26, 53, 58, 97];

const cache = await temporaryCache();
afterAll(() => cache.remove());

type Quantize = (
  base: string,
  values: Float32Array,
  shape: readonly [number, number],
) => Record<string, RawTensor>;

const intQuantized: Quantize = (base, values, [rows, columns]) => {
  const integers = new Int8Array(rows * columns);
  const scales = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const target = integers.subarray(row * columns, (row + 1) * columns);
    scales[row] = quantizeRow(values.subarray(row * columns, (row + 1) * columns), target);
  }
  return {
    [`${base}.weight`]: {
      dtype: 'I8',
      shape: [rows, columns],
      bytes: new Uint8Array(integers.buffer),
    },
    [`${base}.weight_scale`]: floatTensor([rows, 1], scales),
  };
};

/** Blocks of 64 with values in the order that words have them. */
const packQuantized: Quantize = (base, values, [rows, columns]) => {
  const { packed, scales } = quantized(values, rows, columns);
  return {
    [`${base}.weight_packed`]: { dtype: 'I32', shape: [rows, columns / 8], bytes: packed },
    [`${base}.weight_scale`]: floatTensor([rows, columns / 64], scales),
  };
};

function quantized(values: Float32Array, rows: number, columns: number) {
  const blocks = emptyBlocks(rows, columns, 4);
  quantizeRows(values, columns, 4, blocks, 0);
  return blocks;
}

async function writeFolder(format: string, quantize: Quantize): Promise<string> {
  const config = parseDecoderConfig(CONFIG, 'tiny');
  const weights = new RandomWeights(SEED);
  const tensors: Record<string, RawTensor> = {};
  const { embedding, finalNorm } = config.family.tensors;
  const { vocabSize, hiddenSize } = config;
  const plain = async (name: string, shape: readonly number[]) => {
    tensors[`${name}.weight`] = floatTensor(shape, await weights.get(`${name}.weight`, shape));
  };
  await plain(embedding, [vocabSize, hiddenSize]);
  await plain(finalNorm, [hiddenSize]);
  for (let layer = 0; layer < config.numLayers; layer++) {
    await plain(`model.layers.${layer}.input_layernorm`, [hiddenSize]);
    await plain(`model.layers.${layer}.post_attention_layernorm`, [hiddenSize]);
    for (const { tensors: parts, columns } of layerMatrices(config, layer)) {
      for (const { name, rows } of parts) {
        const values = await weights.get(name, [rows, columns]);
        Object.assign(tensors, quantize(name.replace('.weight', ''), values, [rows, columns]));
      }
    }
  }
  const folder = join(cache.path, format);
  await mkdir(folder, { recursive: true });
  await writeSafetensors(join(folder, 'model.safetensors'), tensors);
  const json = { ...CONFIG, quantization_config: { quant_method: 'compressed-tensors', format } };
  await writeFile(join(folder, 'config.json'), JSON.stringify(json));
  return folder;
}

test.each([
  ['int8', 'int-quantized', intQuantized, '8 bits in rows'],
  ['int4', 'pack-quantized', packQuantized, '4 bits in blocks of 64'],
] as const)(
  'in %s, %s gives the logits of the model that it is',
  async (precision, format, quantize, description) => {
    const path = await writeFolder(format, quantize);
    const folder = await inspectModelFolder(path);
    expect(folder).toMatchObject({ stored: { precision, isNative: true, description } });
    for (const kernels of ['onnxruntime', 'native'] as const) {
      const options = {
        precision,
        cacheDirectory: cache.path,
        ...(kernels === 'native' && { nativeKernels: { kvCacheDtype: 'float32' as const } }),
      };
      const logits = await Promise.all(
        [
          { kind: 'folder', path } as const,
          { kind: 'random', config: CONFIG, seed: SEED } as const,
        ].map(async (source) => {
          const model = await prepareModel(source, options);
          const decoder = new CpuDecoder(model, { numSlots: 1, maxModelLen: 16 });
          const sequence = new Sequence(
            engineRequest({ promptTokenIds: Int32Array.from(IDS), sampling: READS_LOGITS }),
          );
          sequence.slot = 0;
          const segments = [segmentOf(sequence, IDS.length)];
          const [result] = decoder.execute({ cacheOperations: [], segments }).logits;
          const copy = result?.logits[0]?.slice();
          decoder.release();
          return copy;
        }),
      );
      expect(logits[0], kernels).toEqual(logits[1]);
    }
  },
);
