/** Adapters that are picked while the model runs, against PEFT and against themselves alone. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { Sequence } from '../../../src/engine/sequence.ts';
import { segmentOf } from '../../../src/engine/step.ts';
import { prepareLiveAdapter } from '../../../src/model/adapters/live-adapter-file.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';
import {
  type AdapterGraphs,
  buildWithAdapters,
  deviation,
  MAX_LENGTH,
  openWithAdapters,
  preparedAdapter,
  runTogether,
} from '../../support/adapter-texts.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { OneText } from '../../support/one-text.ts';
import { floatTensor, type RawTensor, writeSafetensors } from '../../support/safetensors-writer.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FIXTURES = 'test/fixtures';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const referenceSchema = z.object({
  family: z.string(),
  ids: z.array(z.number()),
  greedy: z.array(z.number()),
  logits: z.array(z.number()),
});

async function referenceOf(name: string) {
  const path = join(FIXTURES, 'adapters', name, 'reference.json');
  return referenceSchema.parse(JSON.parse(await readFile(path, 'utf8')));
}

const prepared = (family: string, name: string, graphs?: AdapterGraphs) =>
  preparedAdapter(cache.path, family, name, graphs);
const build = (graphs: AdapterGraphs) => buildWithAdapters(cache.path, 'llama', graphs);
const openDecoder = (family: string, maxActive: number, graphs?: AdapterGraphs) =>
  openWithAdapters(cache.path, family, maxActive, graphs);

/** Adapters that no request picks; see below. */
const MERGED_ONLY = ['gemma2-dora', 'granite-saved', 'olmo2-embedding'];
const ADAPTERS = await readdir(join(FIXTURES, 'adapters'));

const LIVE = ADAPTERS.filter((name) => !MERGED_ONLY.includes(name));

describe.each(everyOrLong(4, LIVE))('%s', (name) => {
  it('gives the logits and greedy tokens of PEFT, and leaves the model as it is', async () => {
    const { family, ids, greedy, logits } = await referenceOf(name);
    const decoder = await openDecoder(family, 2);
    const adapter = await prepared(family, name);
    const [adapted, plain, muted] = runTogether(
      decoder,
      [
        { ids, adapter },
        { ids, adapter: null },
        { ids, adapter: { ...adapter, scale: 0 } },
      ],
      greedy.length,
    );
    decoder.release();
    expect(deviation(adapted?.logits[0], logits)).toBeLessThan(1e-5);
    expect(adapted?.tokens).toEqual(greedy);
    expect(deviation(plain?.logits[0], logits)).toBeGreaterThan(0.05);
    expect(muted).toEqual(plain);
  });
});

describe.each(everyOrLong(4, LIVE))('native %s', (name) => {
  it('gives what PEFT gives in int8, and leaves the model as it is', async () => {
    const { family, ids, logits } = await referenceOf(name);
    const decoder = await openDecoder(family, 2, { precision: 'int8', kernels: 'native' });
    const adapter = await prepared(family, name, { kernels: 'native' });
    const muted = { ...adapter, scale: 0 };
    const texts = [adapter, null, muted].map((each) => ({ ids, adapter: each }));
    const [adapted, plain, unchanged] = runTogether(decoder, texts, 4);
    decoder.release();
    // The rest is the rounding of the model's own weights and activations: most for routers.
    const apart = deviation(plain?.logits[0], logits);
    expect(apart).toBeGreaterThan(0.5);
    expect(deviation(adapted?.logits[0], logits)).toBeLessThan(apart / 5);
    expect(unchanged).toEqual(plain);
  });
});

describe('with native kernels, adapters in one batch', () => {
  it.each(['int8', 'int4'] as const)(
    'in %s are to the bit what they are alone',
    async (precision) => {
      const { ids } = await referenceOf('llama-all');
      const graphs = { precision, kernels: 'native' } as const;
      const files = ['llama-all', 'llama-query', 'llama-patterns'];
      const made = await Promise.all(
        files.map((name) => prepared('llama', name, { kernels: 'native' })),
      );
      // Eight, of three files.
      const adapters = [1, 0.5, -0.5].flatMap((scale) =>
        made.map((adapter) => ({ ...adapter, id: `${adapter.id} ${scale}`, scale })),
      );
      const texts = [null, ...adapters.slice(0, 8)].map((adapter, index) => ({
        ids: ids.slice(index % 4),
        adapter,
      }));
      const together = await openDecoder('llama', 8, graphs);
      const batch = runTogether(together, texts, 8);
      together.release();
      expect(new Set(batch.map(({ logits }) => logits.join())).size).toBe(texts.length);
      for (const [index, text] of texts.entries()) {
        const decoder = await openDecoder(
          'llama',
          8,
          index > 0 ? graphs : { ...graphs, maxRank: null },
        );
        const [alone] = runTogether(decoder, [text], 8);
        decoder.release();
        expect(batch[index], `text ${index}`).toEqual(alone);
      }
    },
  );
});

describe('adapters in one batch', () => {
  it.each(['fp32', 'int8'] as const)('in %s are each what they are alone', async (precision) => {
    const { ids } = await referenceOf('llama-all');
    const names = ['llama-all', 'llama-query', 'llama-patterns'];
    const adapters = [null, ...(await Promise.all(names.map((name) => prepared('llama', name))))];
    const texts = [...adapters, ...adapters].map((adapter, index) => ({
      ids: ids.slice(index),
      adapter,
    }));
    const together = await openDecoder('llama', 3, { precision });
    const batch = runTogether(together, texts, 8);
    together.release();
    for (const [index, text] of texts.entries()) {
      const decoder = await openDecoder('llama', 3, { precision });
      const [alone] = runTogether(decoder, [text], 8);
      decoder.release();
      expect(batch[index]?.tokens, `text ${index}`).toEqual(alone?.tokens);
      for (const [step, logits] of (alone?.logits ?? []).entries()) {
        expect(deviation(batch[index]?.logits[step], logits)).toBeLessThan(1e-5);
      }
    }
  });

  // A stream may go on where --max-lora-rank is another.
  it.each([
    ['fp32', 'onnxruntime'],
    ['int8', 'onnxruntime'],
    ['int8', 'native'],
  ] as const)(
    'in %s (%s) are the same, and compute the same bits, whatever rank there is room for',
    async (precision, kernels) => {
      const { ids } = await referenceOf('llama-all');
      const names = ['llama-all', 'llama-query', 'llama-patterns'];
      const run = async (maxRank: number) => {
        const graphs = { precision, kernels, maxRank };
        const adapters = await Promise.all(names.map((name) => prepared('llama', name, graphs)));
        const decoder = await openDecoder('llama', 3, graphs);
        const texts = runTogether(
          decoder,
          adapters.map((adapter) => ({ ids, adapter })),
          8,
        );
        decoder.release();
        const { contentId } = await build(graphs);
        return { texts, contentId, adapters: adapters.map(({ id }) => id) };
      };
      const others = everyOrLong(2, [9, 16, 17, 64, 99]);
      const first = await run(8);
      const paths = new Set([(await build({ precision, kernels, maxRank: 8 })).graphPath]);
      for (const maxRank of others) {
        expect(await run(maxRank), `rank ${maxRank}`).toEqual(first);
        paths.add((await build({ precision, kernels, maxRank })).graphPath);
      }
      expect(paths.size).toBe(1 + others.length);
      const withoutRoom = await build({ precision, kernels, maxRank: null });
      expect(withoutRoom.contentId).toBe(first.contentId);
    },
  );

  it('take the place of others, the one used longest ago, and come back', async () => {
    const { ids, greedy } = await referenceOf('llama-all');
    const decoder = await openDecoder('llama', 1);
    for (const name of ['llama-all', 'llama-query', 'llama-all', 'llama-patterns', 'llama-query']) {
      const reference = await referenceOf(name);
      const adapter = await prepared('llama', name);
      const [text] = runTogether(decoder, [{ ids, adapter }], greedy.length);
      expect(text?.tokens, name).toEqual(reference.greedy);
    }
    decoder.release();
  });

  it('fail alone where their file is gone', async () => {
    const { ids } = await referenceOf('llama-all');
    const decoder = await openDecoder('llama', 2);
    const adapter = await prepared('llama', 'llama-all');
    const gone = { ...adapter, id: 'gone', path: join(cache.path, 'gone') };
    const segments = [gone, null].map((each, slot) => {
      const request = engineRequest({ promptTokenIds: Int32Array.from(ids), adapter: each });
      const sequence = new Sequence(request);
      sequence.slot = slot;
      return segmentOf(sequence, ids.length);
    });
    const { logits, failures } = decoder.execute({ cacheOperations: [], segments });
    decoder.release();
    expect(failures).toMatchObject([
      { message: expect.stringContaining('no such file or folder') },
    ]);
    expect(logits).toHaveLength(1);
  });
});

/** Adapter of one matrix. @returns its folder */
async function randomAdapter(module: string, rows: number, columns: number): Promise<string> {
  const folder = await temporaryDirectory();
  const random = new RandomWeights(1);
  const tensors: Record<string, RawTensor> = {};
  for (const [part, shape] of [
    ['lora_A', [2, columns]],
    ['lora_B', [rows, 2]],
  ] as const) {
    const key = `base_model.model.${module}.${part}.weight`;
    tensors[key] = floatTensor([...shape], await random.get(key, shape));
  }
  await writeSafetensors(join(folder, 'adapter_model.safetensors'), tensors);
  const config = { peft_type: 'LORA', r: 2, lora_alpha: 4000 };
  await writeFile(join(folder, 'adapter_config.json'), JSON.stringify(config));
  return folder;
}

describe('what can only be merged', () => {
  it.each([
    ['gemma2', 'gemma2-dora', /DoRA, which --adapter can merge/],
    ['granite', 'granite-saved', /modules_to_save\), which --adapter can merge/],
    ['olmo2', 'olmo2-embedding', /which --adapter can merge/],
  ])('of %s, %s is refused', async (family, name, message) => {
    await expect(prepared(family, name)).rejects.toThrow(message);
  });

  it.each(['gate', 'experts.1.w1', 'experts.1.w2'])(
    'of a mixture of experts, %s is refused, and merged',
    async (module) => {
      const [rows, columns] =
        module === 'gate' ? [4, 32] : module.endsWith('2') ? [32, 16] : [16, 32];
      const name = `model.layers.1.block_sparse_moe.${module}`;
      const adapter = await randomAdapter(name, rows, columns);
      await expect(prepared('mixtral', adapter)).rejects.toThrow(
        `has an adapter of "${name}", which --adapter can merge`,
      );
      const { ids } = await referenceOf('mixtral');
      const [plain, merged] = await Promise.all(
        [undefined, adapter].map(async (folder) => {
          const path = join(FIXTURES, 'families', 'mixtral');
          const source = { kind: 'folder', path, adapter: folder } as const;
          const options = { precision: 'fp32', cacheDirectory: cache.path } as const;
          const text = new OneText(await prepareModel(source, options), MAX_LENGTH);
          const logits = text.extend(ids);
          text.release();
          return logits;
        }),
      );
      expect(deviation(merged, plain ?? [])).toBeGreaterThan(1e-3);
    },
  );

  it('is a rank above the limit, too', async () => {
    const folder = await inspectModelFolder(join(FIXTURES, 'families', 'llama'));
    if (folder.kind === 'export') throw new Error('not a folder');
    const adapter = join(FIXTURES, 'adapters', 'llama-patterns');
    const made = (rank: number) =>
      prepareLiveAdapter(adapter, folder.config, rank, 'onnxruntime', cache.path);
    const refusal = /has rank 8, and --max-lora-rank is 4/;
    await expect(made(4)).rejects.toThrow(refusal);
    // Also where the adapter is there already.
    await made(8);
    await expect(made(4)).rejects.toThrow(refusal);
    await rm(join(cache.path, 'adapters'), { recursive: true, force: true });
  });
});
