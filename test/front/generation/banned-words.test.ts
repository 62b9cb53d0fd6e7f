/** Transformers' texts where a generation_config.json bans tokens: scripts/references/banned_words.py. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { EngineClient } from '../../../src/front/engine-process/engine-client.ts';
import { TextGenerator } from '../../../src/front/generation/text-generator.ts';
import { loadTextModel } from '../../../src/front/prompts/load-text-model.ts';
import { Admission } from '../../../src/front/queue/admission.ts';
import { readBannedWords } from '../../../src/front/text/generation-config.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { PLAIN_ANSWER } from '../../support/engine-requests.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const ids = z.array(z.number());
const cases = z
  .array(
    z.object({
      ids,
      suppress_tokens: ids,
      bad_words_ids: z.array(ids),
      free: ids,
      written: ids,
    }),
  )
  .length(12)
  .parse(JSON.parse(await readFile('test/fixtures/banned-words.json', 'utf8')) as unknown);

/** Transformers' generation_config.json. */
const EOS_TOKEN_IDS = [2, 0];

const cache = await temporaryCache();
const engine = new EngineClient();
afterAll(async () => {
  await engine.stop();
  await cache.remove();
});

const folder = join('models', 'foothill');
const model = await prepareModel(
  { kind: 'folder', path: folder },
  { precision: 'fp32', cacheDirectory: cache.path },
);
await engine.start({
  model,
  maxNumSeqs: 4,
  maxModelLen: 256,
  maxNumBatchedTokens: 256,
  threads: 1,
  kvCacheMemory: 2 ** 28,
  prefixCaching: true,
  targetItlMs: null,
});
const { tokenizer } = await loadTextModel({ folder, vocabSize: model.manifest.vocabSize });

async function write(promptTokenIds: readonly number[], bannedWords: readonly Int32Array[]) {
  const admission = new Admission({ concurrency: 4, maxQueue: 4 });
  const parts = { engine, tokenizer, admission, eosTokenIds: EOS_TOKEN_IDS, bannedWords };
  const request = {
    promptTokenIds: Int32Array.from(promptTokenIds),
    maxTokens: 24,
    ...PLAIN_ANSWER,
  };
  const tokenIds: number[] = [];
  const { signal } = new AbortController();
  for await (const delta of new TextGenerator(parts).generate(request, signal)) {
    tokenIds.push(...delta.tokenIds);
  }
  return tokenIds;
}

/** Without the token that ends a text, which is told or not. */
const words = (tokenIds: readonly number[]) => tokenIds.filter((id) => !EOS_TOKEN_IDS.includes(id));

test.each(cases.map((each, index) => [index, each] as const))(
  'text %i has no token or word that its generation_config.json bans, as in Transformers',
  async (_, { ids: prompt, free, written, ...rules }) => {
    const path = await temporaryDirectory();
    await writeFile(join(path, 'generation_config.json'), JSON.stringify(rules));
    const banned = await readBannedWords(path, EOS_TOKEN_IDS);
    expect(words(await write(prompt, []))).toEqual(words(free));
    expect(words(await write(prompt, banned))).toEqual(words(written));
  },
);
