/** Models that MLX quantized, and its logits; see scripts/references/mlx_and_nvfp4.py. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { CpuDecoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { segmentOf } from '../../../src/engine/step.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import type { Precision } from '../../../src/model/manifest.ts';
import { engineRequest, READS_LOGITS } from '../../support/engine-requests.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FIXTURES = 'test/fixtures/mlx';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const references = z.object({ ids: z.array(z.int()), logits: z.array(z.number()) });

/** By fixture, the integers that a build keeps: 4 bits for all, or 8. */
const MODELS: Readonly<Record<string, { precision: 'int4' | 'int8'; description: string | null }>> =
  {
    // One matrix is not quantized.
    llama: { precision: 'int4', description: null },
    qwen3: { precision: 'int8', description: '8 bits in blocks of 32' },
    'qwen3-moe': { precision: 'int4', description: '4 bits in blocks of 32 with offsets' },
    'qwen3-next': { precision: 'int8', description: '8 bits in blocks of 32 with offsets' },
  };

/** Largest difference of logits from MLX's, against the largest of these. */
async function deviation(path: string, precision: Precision, isNative: boolean): Promise<number> {
  const text = await readFile(join(path, 'reference.json'), 'utf8');
  const { ids, logits } = references.parse(JSON.parse(text));
  const model = await prepareModel(
    { kind: 'folder', path },
    {
      precision,
      maxModelLen: 16,
      cacheDirectory: cache.path,
      ...(isNative && { nativeKernels: { kvCacheDtype: 'float32' } }),
    },
  );
  const decoder = new CpuDecoder(model, { numSlots: 1, maxModelLen: 16 });
  const sequence = new Sequence(
    engineRequest({ promptTokenIds: Int32Array.from(ids), sampling: READS_LOGITS }),
  );
  sequence.slot = 0;
  const segments = [segmentOf(sequence, ids.length)];
  const [result] = decoder.execute({ cacheOperations: [], segments }).logits;
  const own = [...(result?.logits[0] ?? [])];
  decoder.release();
  expect(own).toHaveLength(logits.length);
  const furthest = Math.max(...own.map((each, at) => Math.abs(each - (logits[at] ?? NaN))));
  return furthest / Math.max(...logits.map(Math.abs));
}

describe.each(Object.entries(MODELS))('%s', (name, { precision, description }) => {
  const path = join(FIXTURES, name);

  it('gives the logits of MLX', async () => {
    expect(await deviation(path, 'fp32', false)).toBeLessThan(1e-5);
  });

  it('keeps its integers', async () => {
    const folder = await inspectModelFolder(path);
    expect(folder).toMatchObject({ stored: description && { precision, description } });
    // The rest is the rounding of activations to 8 bits.
    expect(await deviation(path, precision, true)).toBeLessThan(0.06);
  });
});

it("of ModelOpt's quantization, what config.json leaves out is read beside it", async () => {
  const folder = await temporaryDirectory();
  await cp('test/fixtures/families/mistral', folder, { recursive: true });
  const write = (quantization: object) =>
    writeFile(join(folder, 'hf_quant_config.json'), JSON.stringify({ quantization }));
  await write({ quant_algo: 'NVFP4', group_size: 16, exclude_modules: ['lm_head'] });
  expect(await inspectModelFolder(folder)).toMatchObject({
    config: { quantization: { method: 'nvfp4' } },
  });
  await write({ quant_algo: null, kv_cache_quant_algo: 'FP8' });
  expect(await inspectModelFolder(folder)).toMatchObject({ config: { quantization: null } });
  await write({ quant_algo: 'W4A8_AWQ' });
  await expect(inspectModelFolder(folder)).rejects.toThrow('quant_algo "W4A8_AWQ" is not');
});

describe('a checkpoint of MLX', () => {
  async function changed(name: string, fields: object): Promise<string> {
    const folder = await temporaryDirectory();
    await cp(join(FIXTURES, name), folder, { recursive: true });
    const path = join(folder, 'config.json');
    const config: object = JSON.parse(await readFile(path, 'utf8'));
    await writeFile(path, JSON.stringify({ ...config, ...fields }));
    return folder;
  }

  it('with fewer experts than config.json says is refused', async () => {
    const path = await changed('qwen3-moe', { num_experts: 5, num_local_experts: 5 });
    await expect(deviation(path, 'fp32', false)).rejects.toThrow(
      /switch_mlp.*has shape \[4, .*\], expected 5 matrices/,
    );
  });

  it('with an LM head has that, whatever config.json says', async () => {
    const folder = await inspectModelFolder(await changed('llama', { tie_word_embeddings: true }));
    expect(folder).toMatchObject({ config: { tieWordEmbeddings: false } });
  });

  it('of a family that it stores otherwise is refused', async () => {
    const config = JSON.parse(
      await readFile('test/fixtures/hybrids/falcon-h1/config.json', 'utf8'),
    );
    const path = await changed('llama', { ...config, quantization: { group_size: 64, bits: 4 } });
    await expect(inspectModelFolder(path)).rejects.toThrow(
      'falcon_h1 as MLX stores it is not supported (supported: qwen3_next',
    );
  });
});
