/** Whisper in the continuous batch: its texts are those of Transformers. */
import { afterAll, describe, expect, it } from 'vitest';
import { openEngine } from '../../src/engine/process/open-engine.ts';
import type { EngineOptions } from '../../src/engine/process/protocol.ts';
import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import type { BuildOptions } from '../../src/model/build/build-options.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { deviation } from '../support/adapter-texts.ts';
import { everyOrLong } from '../support/long-runs.ts';
import { LINUX, needs } from '../support/needs.ts';
import { MAX_SEQS } from '../support/crashing-engine.ts';
import {
  SPEECH_MODELS,
  type SpeechModelName,
  speechFolder,
  speechReference,
  speechRequests,
} from '../support/speech.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { expectTextsAfterCrashes } from '../support/vision-requests.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const build = (
  name: SpeechModelName,
  options: Pick<BuildOptions, 'precision'> = { precision: 'fp32' },
): Promise<BuiltModel> =>
  prepareModel(
    { kind: 'folder', path: speechFolder(name) },
    { ...options, cacheDirectory: cache.path },
  );

const OPTIONS = {
  maxNumSeqs: MAX_SEQS,
  maxNumBatchedTokens: 128,
  threads: 2,
  kvCacheMemory: 2 ** 28,
  prefixCaching: true,
  targetItlMs: null,
} as const;

/** How far logits may be, in parts of the largest; as of other families. */
const COMPUTED = [
  ['fp32', 1e-5],
  ['int8', 0.1],
  ['int4', 0.7],
] as const;

interface Run {
  readonly outputs: ReadonlyMap<number, readonly TokenOutput[]>;
  readonly numPreemptions: number;
}

/** @param together all at once, or one after the other */
function run(
  model: BuiltModel,
  requests: readonly EngineRequest[],
  { together = true, ...given }: Partial<EngineOptions> & { readonly together?: boolean } = {},
): Run {
  const { engine, decoder } = openEngine({
    ...OPTIONS,
    model,
    maxModelLen: model.manifest.maxPositionEmbeddings,
    ...given,
  });
  const outputs = new Map(requests.map(({ id }) => [id, [] as TokenOutput[]]));
  const finish = (): void => {
    while (engine.hasWork) {
      for (const output of engine.step()) outputs.get(output.id)?.push(output);
    }
  };
  for (const request of requests) {
    engine.add(request);
    if (!together) finish();
  }
  finish();
  const { numPreemptions } = engine.stats;
  decoder.release();
  return { outputs, numPreemptions };
}

const tokensOf = ({ outputs }: Run) =>
  Array.from(outputs.values(), (all) => all.map(({ tokenId }) => tokenId));

describe.each(everyOrLong(3, SPEECH_MODELS))('%s', (name) => {
  it('has the parameters that Transformers counts', async () => {
    const { parameters } = await speechReference(name);
    expect((await build(name)).manifest.numParameters).toBe(parameters.decoder);
  });

  it('writes what Transformers writes, alone and beside others, in chunks and after what it knows', async () => {
    const model = await build(name);
    const given = await speechRequests(name);
    const requests = given.map(({ request }) => request);
    const texts = given.map(({ greedy }) => greedy);
    for (const maxNumBatchedTokens of [128, 17, MAX_SEQS]) {
      for (const together of [true, false]) {
        expect(tokensOf(run(model, requests, { maxNumBatchedTokens, together }))).toEqual(texts);
      }
    }
  });

  it('finds each token as likely as Transformers does', async () => {
    const model = await build(name);
    const given = await speechRequests(name);
    const { outputs } = run(
      model,
      given.map(({ request }) => request),
    );
    for (const { request, logits } of given) {
      const all = outputs.get(request.id) ?? [];
      for (const [at, row] of [
        [all[0], logits[0]],
        [all.at(-1), logits[1]],
      ] as const) {
        const told = at?.logprobs;
        const total = Math.log(row.reduce((sum, logit) => sum + Math.exp(logit), 0));
        expect(told?.tokenIds).toHaveLength(4);
        for (const [index, tokenId] of Array.from(told?.tokenIds ?? []).entries()) {
          expect(told?.logprobs[index]).toBeCloseTo((row[tokenId] ?? 0) - total, 3);
        }
      }
    }
  });

  it.each(COMPUTED)('in %s its logits are near those of Transformers', async (precision, most) => {
    const model = await build(name, { precision });
    const given = await speechRequests(name);
    const requests = given.map(({ request, logits: [row] }) => ({
      ...request,
      logprobs: null,
      maxTokens: 0,
      readout: { kind: 'logits', tokenIds: Int32Array.from(row.keys()) } as const,
    }));
    const { outputs } = run(model, requests);
    const far = given.map(({ request, logits: [row] }) =>
      deviation(outputs.get(request.id)?.[0]?.values, row),
    );
    expect(Math.max(...far)).toBeLessThan(most);
    expect(Math.min(...far)).toBeGreaterThan(precision === 'fp32' ? 0 : 1e-4);
  });

  it('writes the same where texts give up their slots for others', async () => {
    const model = await build(name);
    const given = await speechRequests(name);
    const requests = given.map(({ request }, index) => ({ ...request, tier: 2 - index }));
    const { engine, decoder } = openEngine({
      ...OPTIONS,
      model,
      maxNumSeqs: 1,
      maxModelLen: model.manifest.maxPositionEmbeddings,
    });
    const outputs = new Map(requests.map(({ id }) => [id, [] as TokenOutput[]]));
    const step = (): void => {
      for (const output of engine.step()) outputs.get(output.id)?.push(output);
    };
    for (const request of requests) {
      engine.add(request);
      for (let count = 0; count < 5; count++) step();
    }
    while (engine.hasWork) step();
    const { numPreemptions, numYields } = engine.stats;
    decoder.release();
    expect(numPreemptions + numYields).toBeGreaterThan(0);
    expect(Array.from(outputs.values(), (all) => all.map(({ tokenId }) => tokenId))).toEqual(
      given.map(({ greedy }) => greedy),
    );
  });

  it('gets the same after crashes, in any batch', needs(LINUX), async () => {
    expectTextsAfterCrashes(await build(name), await speechRequests(name));
  });
});
