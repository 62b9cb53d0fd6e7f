/** Adapters that are picked while the model runs, against PEFT and against themselves alone. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { CpuDecoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import type { EngineAdapter } from '../../../src/engine/request.ts';
import { argmax } from '../../../src/engine/sampling/sampler.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { segmentOf } from '../../../src/engine/step.ts';
import { prepareLiveAdapter } from '../../../src/model/adapters/live-adapter-file.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { roomForRank } from '../../../src/model/graph/live-adapter-shape.ts';
import type { Precision } from '../../../src/model/build/manifest.ts';
import { inspectModelFolder } from '../../../src/model/huggingface/model-folder.ts';
import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { OneText } from '../../support/one-text.ts';
import { floatTensor, type RawTensor, writeSafetensors } from '../../support/safetensors-writer.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FIXTURES = 'test/fixtures';
const MAX_LENGTH = 64;
const MAX_RANK = 8;

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

/** @param name of a fixture, or an absolute path */
async function prepared(family: string, name: string, maxRank = MAX_RANK): Promise<EngineAdapter> {
  const folder = await inspectModelFolder(join(FIXTURES, 'families', family), MAX_LENGTH);
  if (folder.kind === 'export') throw new Error('not a folder');
  const adapter = isAbsolute(name) ? name : join(FIXTURES, 'adapters', name);
  const file = await prepareLiveAdapter(adapter, folder.config, maxRank, cache.path);
  return { ...file, scale: 1 };
}

const build = (family: string, precision: Precision, maxAdapterRank?: number) =>
  prepareModel(
    { kind: 'folder', path: join(FIXTURES, 'families', family) },
    { precision, cacheDirectory: cache.path, maxModelLen: MAX_LENGTH, maxAdapterRank },
  );

async function openDecoder(
  family: string,
  maxActive: number,
  precision: Precision = 'fp32',
  maxRank = MAX_RANK,
) {
  const model = await build(family, precision, maxRank);
  const adapters = { maxActive, maxCached: 1 };
  return new CpuDecoder(model, { numSlots: 8, maxModelLen: MAX_LENGTH, adapters });
}

interface Text {
  readonly ids: readonly number[];
  readonly adapter: EngineAdapter | null;
}

/** Logits of all texts, step by step, whose greedy tokens are computed together. */
function runTogether(decoder: CpuDecoder, texts: readonly Text[], numTokens: number) {
  const sequences = texts.map(({ ids, adapter }, slot) => {
    const sequence = new Sequence(engineRequest({ promptTokenIds: Int32Array.from(ids), adapter }));
    sequence.slot = slot;
    return { sequence, computed: 0, logits: [] as Float32Array[], tokens: [] as number[] };
  });
  for (let step = 0; step < numTokens; step++) {
    const segments = sequences.map(({ sequence, computed }) =>
      segmentOf(sequence, sequence.numTokens - computed, computed),
    );
    const { logits, failures } = decoder.execute({ cacheOperations: [], segments });
    expect(failures).toEqual([]);
    for (const text of sequences) {
      const found = logits.find(({ segment }) => segment.sequence === text.sequence);
      const row = found?.logits[0]?.slice() ?? new Float32Array();
      text.computed = text.sequence.numTokens;
      text.logits.push(row);
      text.tokens.push(argmax(row));
      text.sequence.append(argmax(row));
    }
  }
  return sequences.map(({ logits, tokens }) => ({ logits, tokens }));
}

function deviation(actual: ArrayLike<number> | undefined, expected: ArrayLike<number>): number {
  const values = Array.from(expected);
  const largest = Math.max(...values.map(Math.abs));
  return Math.max(...values.map((value, i) => Math.abs(value - (actual?.[i] ?? NaN)))) / largest;
}

/** What no request picks; see below. */
const MERGED_ONLY = ['gemma2-dora', 'granite-saved', 'olmo2-embedding'];
const ADAPTERS = await readdir(join(FIXTURES, 'adapters'));

describe.each(ADAPTERS.filter((name) => !MERGED_ONLY.includes(name)))('%s', (name) => {
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

describe('adapters in one batch', () => {
  it.each(['fp32', 'int8'] as const)('in %s are each what they are alone', async (precision) => {
    const { ids } = await referenceOf('llama-all');
    const names = ['llama-all', 'llama-query', 'llama-patterns'];
    const adapters = [null, ...(await Promise.all(names.map((name) => prepared('llama', name))))];
    const texts = [...adapters, ...adapters].map((adapter, index) => ({
      ids: ids.slice(index),
      adapter,
    }));
    const together = await openDecoder('llama', 3, precision);
    const batch = runTogether(together, texts, 8);
    together.release();
    for (const [index, text] of texts.entries()) {
      const decoder = await openDecoder('llama', 3, precision);
      const [alone] = runTogether(decoder, [text], 8);
      decoder.release();
      expect(batch[index]?.tokens, `text ${index}`).toEqual(alone?.tokens);
      for (const [step, logits] of (alone?.logits ?? []).entries()) {
        expect(deviation(batch[index]?.logits[step], logits)).toBeLessThan(1e-5);
      }
    }
  });

  // A stream may go on where --max-lora-rank is another.
  it.each(['fp32', 'int8'] as const)(
    'in %s are the same, and compute the same bits, whatever rank there is room for',
    async (precision) => {
      const { ids } = await referenceOf('llama-all');
      const names = ['llama-all', 'llama-query', 'llama-patterns'];
      const run = async (maxRank: number) => {
        const adapters = await Promise.all(names.map((name) => prepared('llama', name, maxRank)));
        const decoder = await openDecoder('llama', 3, precision, roomForRank(maxRank));
        const texts = runTogether(
          decoder,
          adapters.map((adapter) => ({ ids, adapter })),
          8,
        );
        decoder.release();
        const { contentId } = await build('llama', precision, roomForRank(maxRank));
        return { texts, contentId, adapters };
      };
      const first = await run(8);
      const paths = new Set([(await build('llama', precision, 8)).graphPath]);
      for (const maxRank of [9, 16, 17, 64, 99]) {
        expect(await run(maxRank), `rank ${maxRank}`).toEqual(first);
        paths.add((await build('llama', precision, roomForRank(maxRank))).graphPath);
      }
      expect(paths.size).toBe(6);
      expect((await build('llama', precision)).contentId).toBe(first.contentId);
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
    expect(failures).toMatchObject([{ message: expect.stringContaining('ENOENT') }]);
    expect(logits).toHaveLength(1);
  });
});

/** Of one matrix. @returns its folder */
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
    ['gemma2', 'gemma2-dora', /DoRA, which --adapter merges/],
    ['granite', 'granite-saved', /modules_to_save\), which --adapter merges/],
    ['olmo2', 'olmo2-embedding', /which --adapter merges/],
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
        `has an adapter of "${name}", which --adapter merges`,
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
    const made = (rank: number) => prepareLiveAdapter(adapter, folder.config, rank, cache.path);
    const refusal = /has rank 8, and --max-lora-rank is 4/;
    await expect(made(4)).rejects.toThrow(refusal);
    // Also where the adapter is there already.
    await made(8);
    await expect(made(4)).rejects.toThrow(refusal);
    await rm(join(cache.path, 'adapters'), { recursive: true, force: true });
  });
});
