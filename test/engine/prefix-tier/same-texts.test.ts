/** Texts with and without the tier, on the embedded model: the same bits come back. */
import { afterAll, describe, expect, it } from 'vitest';
import { type OpenedEngine, openEngine } from '../../../src/engine/process/open-engine.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import type { EngineRequest, TokenOutput } from '../../../src/engine/request.ts';
import { builtModels } from '../../support/built-models.ts';
import { bitsOf } from '../../support/crashing-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const models = await builtModels();
afterAll(() => models.remove());

const options: Omit<EngineOptions, 'model'> = {
  maxNumSeqs: 2,
  maxModelLen: 512,
  maxNumBatchedTokens: 128,
  threads: 1,
  kvCacheMemory: 2 ** 26,
  prefixCaching: true,
  targetItlMs: null,
};

const promptOf = (length: number, seed: number) =>
  Int32Array.from({ length }, (_, at) => 5 + ((at * 7 + seed * 13 + ((at * at) % 31)) % 900));

function requestOf(id: number, seed: number, cacheSalt = ''): EngineRequest {
  const promptTokenIds = promptOf(300, seed);
  return engineRequest({ id, promptTokenIds, maxTokens: 24, cacheSalt, logprobs: 2 });
}

/** As the engine's process does it: the tier is asked first. */
async function run({ engine, tier }: OpenedEngine, request: EngineRequest) {
  await tier?.fetch(request);
  engine.add(request);
  const outputs: TokenOutput[] = [];
  while (engine.hasWork) outputs.push(...engine.step());
  await tier?.settle();
  return { bits: bitsOf(outputs), cached: outputs[0]?.numCachedTokens };
}

const KINDS = everyOrLong(2, [
  ['fp32', 'float32', 'onnxruntime'],
  ['int4', 'int8', 'onnxruntime'],
  ['int8', 'int8', 'native'],
  ['int4', 'float16', 'native'],
  ['int8', 'int4', 'native'],
] as const);

describe.each(KINDS)('%s with a cache of %s on %s', (precision, kvCacheDtype, kernels) => {
  it('a text goes on from memory and from the folder with the bits that it has without them', async () => {
    const model = await models.get('summit', kvCacheDtype, precision, kernels);
    const path = await temporaryDirectory();
    const folder = { path, maxBytes: 2 ** 28, maxAgeMs: 3_600_000 };
    const first = openEngine({ ...options, model });
    const expected = await run(first, requestOf(1, 1));
    first.decoder.release();
    expect(expected.cached).toBe(0);

    const opened = openEngine({ ...options, model, prefixTier: { memoryBytes: 2 ** 26, folder } });
    expect(await run(opened, requestOf(1, 1))).toEqual(expected);
    // Enough others to need all slots: only the tier has it now.
    for (let id = 2; id <= 9; id++) await run(opened, requestOf(id, id));
    expect(await run(opened, requestOf(10, 1))).toEqual({ bits: expected.bits, cached: 256 });
    expect(opened.tier?.stats).toMatchObject({ externalPrefixCacheHits: 256, prefixTierErrors: 0 });
    // Another key's.
    const other = await run(opened, requestOf(11, 1, 'other'));
    expect(other).toEqual({ bits: expected.bits, cached: 0 });
    opened.decoder.release();

    const restarted = openEngine({ ...options, model, prefixTier: { memoryBytes: 0, folder } });
    expect(await run(restarted, requestOf(1, 1))).toEqual({ bits: expected.bits, cached: 256 });
    expect(await run(restarted, requestOf(2, 1, 'third'))).toMatchObject({ cached: 0 });
    restarted.decoder.release();
  });
});
