/** Vectors that are kept are found again by the same model alone: each file that changes them counts. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, expect, it } from 'vitest';
import { ImagePool } from '../../../src/front/images/image-pool.ts';
import { EmbeddingCache } from '../../../src/front/response-cache/embedding-cache.ts';
import { TwoLevelCache } from '../../../src/front/response-cache/two-level-cache.ts';
import { EncoderLoader } from '../../../src/serving/loading/encoder-loader.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { dualFolder } from '../../support/dual-encoders.ts';
import { settingsFrom } from '../../support/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

// One for all: each starts processes.
const images = new ImagePool();
afterAll(() => images.close());

const CALLER = { client: 'a', signal: new AbortController().signal };
const TEXT = 'a cat';

async function vectorOf(source: string, embeddings: EmbeddingCache | null) {
  const { options } = await settingsFrom('serve', ['--threads', '1']);
  const logger = pino({ level: 'silent' });
  const loader = new EncoderLoader({ options, logger, isShared: () => false, images, embeddings });
  const runtime = await loader.load(modelDefinition('siglip', {}, { source }), () => {});
  try {
    if (runtime.kind !== 'encoder') throw new Error('it is no encoder');
    const { vectors } = await runtime.encoder.embed([TEXT], {}, CALLER);
    return Array.from(vectors[0] ?? []);
  } finally {
    await runtime.stop();
  }
}

it.each([
  ['tokenizer_config.json', '"pad_token": "</s>"', '"pad_token": "<unk>"'],
  ['config.json', /"layer_norm_eps": [^,\n]+/g, '"layer_norm_eps": 0.5'],
] as const)('%s', async (name, from, to) => {
  const folder = join(await temporaryDirectory(), 'siglip');
  await cp(dualFolder('siglip'), folder, { recursive: true });
  const store = new TwoLevelCache({ maxBytes: 2 ** 20, maxEntryBytes: 2 ** 20, ttlMs: 60_000 });
  const cache = new EmbeddingCache(store);
  const before = await vectorOf(folder, cache);
  const text = await readFile(join(folder, name), 'utf8');
  expect(text).not.toBe(text.replace(from, to));
  await writeFile(join(folder, name), text.replace(from, to));
  const plain = await vectorOf(folder, null);
  expect(plain).not.toEqual(before);
  expect(await vectorOf(folder, cache)).toEqual(plain);
});
