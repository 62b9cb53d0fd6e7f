/** Text towers of CLIP and SigLIP make the vectors that Transformers makes of the same texts. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TEXT_BATCHING } from '../../src/front/batching/default-batching.ts';
import { TextModel } from '../../src/front/embedding/text-model.ts';
import type { EncoderPrecision } from '../../src/model/encoder/encoder-nodes.ts';
import { DUAL_MODELS, type DualName, dualFolder, dualReference } from '../support/dual-encoders.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { cosine, largestDifference } from './support/encoders.ts';

const cache = await temporaryCache();
const started: TextModel[] = [];
afterAll(async () => {
  await Promise.all(started.map((model) => model.stop()));
  await cache.remove();
});

const CALLER = { client: '', signal: new AbortController().signal };

async function start(folder: string, precision: EncoderPrecision = 'fp32'): Promise<TextModel> {
  const model = await TextModel.open({
    folder,
    precision,
    cacheDirectory: cache.path,
    threads: 1,
    tokenizerThreads: 1,
    runTimeoutMs: 60_000,
    batching: TEXT_BATCHING,
  });
  started.push(model);
  await model.start();
  return model;
}

const exact = Object.fromEntries(
  await Promise.all(
    DUAL_MODELS.map(async (name) => [name, await start(dualFolder(name))] as const),
  ),
) as Record<DualName, TextModel>;

describe.each(DUAL_MODELS)('%s', (name) => {
  it('makes the same vectors of texts and of tokens in fp32, together and alone', async () => {
    const { texts, ids, textVectors } = await dualReference(name);
    const model = exact[name];
    expect([model.kind, model.dim, model.givesTokens]).toEqual([
      'embedding',
      textVectors[0]?.length,
      false,
    ]);
    const tokens = ids.map((each) => Int32Array.from(each));
    const alone = await Promise.all(
      texts.map((text) => model.embed([text], { truncate: true }, CALLER)),
    );
    for (const vectors of [
      (await model.embed(texts, { truncate: true }, CALLER)).vectors,
      (await model.embed(tokens, {}, CALLER)).vectors,
      alone.flatMap((each) => each.vectors),
    ]) {
      for (const [row, expected] of textVectors.entries()) {
        expect(largestDifference(vectors[row] ?? [], expected)).toBeLessThan(5e-6);
      }
    }
  });

  it('makes near ones in int8', async () => {
    const { texts, textVectors } = await dualReference(name);
    const model = await start(dualFolder(name), 'int8');
    const { vectors } = await model.embed(texts, { truncate: true }, CALLER);
    for (const [row, expected] of textVectors.entries()) {
      expect(cosine(vectors[row] ?? [], expected)).toBeGreaterThan(0.99);
    }
  });
});

it('counts the tokens that a tower reads: up to the end of a text, or with padding', async () => {
  const { clip, siglip } = exact;
  const { texts, ids } = await dualReference('clip');
  const cut = await clip.embed(texts, { truncate: true }, CALLER);
  const end = Math.max(...ids.flat());
  expect(cut.tokenCounts).toEqual(ids.map((each) => each.indexOf(end) + 1));
  expect((await siglip.embed(['a', 'a cat'], {}, CALLER)).tokenCounts).toEqual([16, 16]);
});

it('old configurations of CLIP read a text up to its highest token', async () => {
  const { ids, textVectors } = await dualReference('clip');
  const folder = await temporaryDirectory();
  await cp(dualFolder('clip'), folder, { recursive: true });
  const path = join(folder, 'config.json');
  const config = z
    .looseObject({ text_config: z.looseObject({}) })
    .parse(JSON.parse(await readFile(path, 'utf8')));
  config.text_config['eos_token_id'] = 2;
  await writeFile(path, JSON.stringify(config));
  const model = await start(folder);
  const tokens = ids.map((each) => Int32Array.from([...each, 5, 2]).subarray(0, 20));
  const { vectors } = await model.embed(tokens, {}, CALLER);
  for (const [row, expected] of textVectors.entries()) {
    expect(largestDifference(vectors[row] ?? [], expected)).toBeLessThan(5e-6);
  }
});
