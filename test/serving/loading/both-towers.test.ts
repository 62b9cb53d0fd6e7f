/** A model of two towers is one model: started, watched, cached and stopped together. */
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ImagePool } from '../../../src/front/images/image-pool.ts';
import { EmbeddingCache } from '../../../src/front/response-cache/embedding-cache.ts';
import { TwoLevelCache } from '../../../src/front/response-cache/two-level-cache.ts';
import { EncoderLoader } from '../../../src/serving/loading/encoder-loader.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { dualFolder, dualImage, dualReference } from '../../support/dual-encoders.ts';
import { settingsFrom } from '../../support/settings.ts';

const CALLER = { client: 'a', signal: new AbortController().signal };

it('embeds images once, and ends with both of its processes', async () => {
  const images = new ImagePool();
  onTestFinished(() => images.close());
  const store = new TwoLevelCache({ maxBytes: 2 ** 20, maxEntryBytes: 2 ** 20, ttlMs: 60_000 });
  const embeddings = new EmbeddingCache(store);
  const { options } = await settingsFrom('serve', ['--threads', '1']);
  const loader = new EncoderLoader({
    options,
    logger: pino({ level: 'silent' }),
    isShared: () => false,
    images,
    embeddings,
  });
  const definition = modelDefinition('clip', {}, { source: dualFolder('clip') });
  expect(await loader.estimate(definition)).toBeGreaterThan(50_000);
  const runtime = await loader.load(definition, () => {});
  onTestFinished(() => runtime.stop());
  if (runtime.kind !== 'encoder' || !runtime.images) throw new Error('it takes no images');
  expect(runtime.engine.state).toBe('ready');
  const pids = (runtime.pids?.() ?? []).flatMap((pid) => pid ?? []);
  expect(new Set(pids).size).toBe(2);
  const file = await dualImage('wide.png');
  const { imageVectors, images: files } = await dualReference('clip');
  const expected = imageVectors[files.indexOf('wide.png')] ?? [];
  const [first, second] = [
    await runtime.images.embed([file], {}, CALLER),
    await runtime.images.embed([file], {}, CALLER),
  ];
  expect(Array.from(first.vectors[0] ?? [])).toEqual(
    expected.map((value) => expect.closeTo(value, 4) as number),
  );
  expect(second).toEqual(first);
  expect(embeddings.counts).toMatchObject({ misses: 1, hits: { memory: 1 } });
  await expect(runtime.images.embed([Buffer.from('no image')], {}, CALLER)).rejects.toThrow(
    'it is no PNG, JPEG, WebP or GIF',
  );
  await runtime.admission.onIdle();
  await runtime.stop();
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});
