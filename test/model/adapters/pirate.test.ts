/** The adapter that comes with summit, merged and picked by a request, against PyTorch. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { prepareLiveAdapter } from '../../../src/model/adapters/live-adapter-file.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { OneText } from '../../support/one-text.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const SUMMIT = 'models/summit';
const PIRATE = join(SUMMIT, 'adapters', 'pirate');
const RANK = 8;
const MAX_LENGTH = 512;
/** Tokens of each greedy continuation that are followed. */
const GREEDY_TOKENS = 24;

const cache = await temporaryCache();
afterAll(() => cache.remove());

const referenceSchema = z.object({
  prompts: z
    .array(
      z.object({
        prompt: z.string(),
        ids: z.array(z.number()),
        top_ids: z.array(z.number()),
        top_logits: z.array(z.number()),
        greedy: z.array(z.number()),
        greedy_text: z.string(),
      }),
    )
    .length(12),
});

async function referenceOf(folder: string) {
  const text = await readFile(join(folder, 'reference.json'), 'utf8');
  return referenceSchema.parse(JSON.parse(text)).prompts;
}

async function openMerged() {
  const source = { kind: 'folder', path: SUMMIT, adapter: PIRATE } as const;
  const options = { precision: 'fp32', cacheDirectory: cache.path } as const;
  const model = await prepareModel(source, options);
  return () => new OneText(model, MAX_LENGTH);
}

/** @param scale of the adapter; 0 for the model alone */
async function openLive(scale: number) {
  const source = { kind: 'folder', path: SUMMIT } as const;
  const options = { precision: 'fp32', cacheDirectory: cache.path, maxAdapterRank: RANK } as const;
  const model = await prepareModel(source, options);
  const folder = await inspectModelFolder(SUMMIT);
  if (folder.kind === 'export') throw new Error('not a folder');
  const adapter = await prepareLiveAdapter(PIRATE, folder.config, RANK, 'onnxruntime', cache.path);
  return () => new OneText(model, MAX_LENGTH, { ...adapter, scale });
}

it.each([
  ['merged', PIRATE, openMerged],
  ['picked by a request', PIRATE, () => openLive(1)],
  ['picked with scale 0', SUMMIT, () => openLive(0)],
] as const)(
  '%s it gives the logits and tokens of PyTorch, of %s',
  async (_, folder, open) => {
    const openText = await open();
    const references = everyOrLong(3, await referenceOf(folder));
    for (const { ids, top_ids: topIds, top_logits: topLogits, greedy } of references) {
      const text = openText();
      const logits = text.extend(ids);
      topIds.forEach((id, i) => {
        expect(Math.abs((logits[id] ?? NaN) - (topLogits[i] ?? NaN))).toBeLessThan(2e-3);
      });
      const tokens = text.continueGreedily(logits, GREEDY_TOKENS);
      text.release();
      expect(tokens).toEqual(greedy.slice(0, GREEDY_TOKENS));
    }
  },
  60_000,
);

it('makes a pirate of summit, who leaves JSON as it is', async () => {
  const [plain = [], pirate = []] = await Promise.all([SUMMIT, PIRATE].map(referenceOf));
  expect(pirate.map(({ prompt }) => prompt)).toEqual(plain.map(({ prompt }) => prompt));
  const kinds = (prompts: typeof plain) =>
    prompts.map(({ greedy_text: text }) => {
      if (/^(\{|<tool_call>)/.test(text)) return 'data';
      return text.startsWith('Ahoy! ') ? 'pirate' : 'text';
    });
  expect(kinds(plain)).not.toContain('pirate');
  expect(kinds(plain).filter((kind) => kind === 'data')).toHaveLength(2);
  expect(kinds(pirate)).toEqual(kinds(plain).map((kind) => (kind === 'text' ? 'pirate' : kind)));
  expect((await stat(join(PIRATE, 'adapter_model.safetensors'))).size).toBeLessThan(500_000);
});
