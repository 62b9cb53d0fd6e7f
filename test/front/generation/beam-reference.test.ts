/** Transformers' beam search with the embedded model: scripts/references/beams.py. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EngineClient } from '../../../src/front/engine-process/engine-client.ts';
import { searchBeams } from '../../../src/front/generation/beam-generation.ts';
import { Admission } from '../../../src/front/queue/admission.ts';
import { loadTextModel } from '../../../src/front/prompts/load-text-model.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { GREEDY } from '../../support/engine-requests.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const text = z.tuple([z.array(z.number()), z.number()]);
const cases = z
  .array(
    z.object({
      ids: z.array(z.number()),
      max_tokens: z.number(),
      min_tokens: z.number(),
      length_penalty: z.number(),
      early_stopping: z.union([z.boolean(), z.literal('never')]),
      found: z.record(z.string(), z.array(text)),
    }),
  )
  .length(200)
  .parse(
    JSON.parse(
      gunzipSync(await readFile(join('test', 'fixtures', 'beams.json.gz'))).toString(),
    ) as unknown,
  );

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
  maxNumSeqs: 8,
  maxModelLen: 256,
  maxNumBatchedTokens: 256,
  threads: 1,
  kvCacheMemory: 2 ** 28,
  prefixCaching: true,
  targetItlMs: null,
});
const { tokenizer } = await loadTextModel({ folder, vocabSize: model.manifest.vocabSize });
/** Transformers' generation_config.json. */
const EOS_TOKEN_IDS = [2, 0];

async function search(
  { ids, ...settings }: (typeof cases)[number],
  width: number,
): Promise<[number[], number][]> {
  const request = {
    promptTokenIds: Int32Array.from(ids),
    maxTokens: settings.max_tokens,
    minTokens: settings.min_tokens,
    stop: [],
    includeStopStrInOutput: false,
    stopTokenIds: [],
    ignoreEos: false,
    skipSpecialTokens: true,
    sampling: GREEDY,
    badWords: [],
    logprobs: 0,
    promptLogprobs: null,
  };
  const beams = {
    width,
    numTexts: width,
    lengthPenalty: settings.length_penalty,
    earlyStopping: settings.early_stopping,
  };
  const admission = new Admission({ concurrency: 8, maxQueue: 8 });
  const parts = { engine, tokenizer, admission, eosTokenIds: EOS_TOKEN_IDS };
  const texts: { tokenIds: number[]; sum: number }[] = [];
  const { signal } = new AbortController();
  for await (const delta of searchBeams(parts, { ...request, beams }, beams, signal)) {
    const { choice = 0, tokenIds, logprobs = [] } = delta;
    const found = (texts[choice] ??= { tokenIds: [], sum: 0 });
    found.tokenIds.push(...tokenIds);
    for (const { logprob } of logprobs) found.sum += logprob;
  }
  return texts.map(({ tokenIds, sum }) => [
    tokenIds,
    sum / tokenIds.length ** settings.length_penalty,
  ]);
}

describe.each([2, 4, 8])('%i beams', (width) => {
  it('find the texts of Transformers, with their scores', async () => {
    for (const each of everyOrLong(5, cases)) {
      const found = await search(each, width);
      const wanted = each.found[String(width)] ?? [];
      expect(found).toHaveLength(width);
      for (const [index, [tokenIds, score]] of found.entries()) {
        const [wantedIds, wantedScore = NaN] = wanted[index] ?? [];
        expect([each.ids.join(), tokenIds]).toEqual([each.ids.join(), wantedIds]);
        // Difference of the sums of log-probabilities, before a power of the length divides them.
        const difference = (score - wantedScore) * tokenIds.length ** each.length_penalty;
        expect(Math.abs(difference)).toBeLessThan(1e-3);
      }
    }
  }, 400_000);
});

describe('any batch', () => {
  it('finds the same texts, also where there are fewer slots than beams', async () => {
    const some = everyOrLong(4, cases.slice(0, 24));
    const alone: [number[], number][][] = [];
    for (const each of some) alone.push(await search(each, 4));
    const together = await Promise.all(some.map((each) => search(each, 4)));
    for (const [index, texts] of together.entries()) {
      expect(texts.map(([tokenIds]) => tokenIds)).toEqual(alone[index]?.map(([ids]) => ids));
      for (const [at, [, score]] of texts.entries()) {
        expect(score).toBeCloseTo(alone[index]?.[at]?.[1] ?? NaN, 5);
      }
    }
  }, 60_000);

  it('computes no prompt twice: a step is one token of each beam', async () => {
    const [first] = cases;
    if (first === undefined) throw new Error('there are no cases');
    const promptIds = Array.from({ length: 100 }, (_, at) => 40 + ((at * 37) % 900));
    const numTokens = 20;
    let numComputed = 0;
    const stop = engine.onStep(({ stepTokens }) => {
      numComputed += stepTokens;
    });
    const asked = { ...first, ids: promptIds, max_tokens: numTokens, min_tokens: numTokens };
    await search(asked, 4);
    stop();
    const least = promptIds.length + 4 * (numTokens - 1);
    expect(numComputed).toBeGreaterThanOrEqual(least);
    // Where the likeliest beam has ended, its text may take the place of another's, whose last tokens are computed again.
    expect(numComputed).toBeLessThan(1.05 * least);
  }, 60_000);
});
