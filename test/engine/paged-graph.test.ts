import { afterAll, describe, expect, it } from 'vitest';
import { CostModel } from '../../src/engine/cost-model.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { EngineRequest } from '../../src/engine/messages.ts';
import { openEngine } from '../../src/engine/open-engine.ts';
import { PagedDecoder } from '../../src/engine/paged-decoder.ts';
import { PagedKvCache } from '../../src/engine/paged-kv-cache.ts';
import { Sampler } from '../../src/engine/sampler.ts';
import { Scheduler } from '../../src/engine/scheduler.ts';
import { prepareModel } from '../../src/model/build.ts';
import { parseDecoderConfig } from '../../src/model/config.ts';
import { PRESETS } from '../../src/model/presets.ts';
import { Session } from '../../src/ort/session.ts';
import { builtModels } from '../support/built-models.ts';
import { CpuPagedModel } from '../support/cpu-paged-model.ts';
import { engineRequest } from '../support/engine-requests.ts';

const models = await builtModels();
afterAll(() => models.remove());

const LIMITS = {
  maxNumSeqs: 4,
  maxNumBatchedTokens: 48,
  targetItlMs: null,
  batching: 'continuous',
} as const;

function run(engine: Engine, requests: readonly EngineRequest[]): Map<number, number[]> {
  const tokens = new Map<number, number[]>();
  // One arrival per step, so that prompts are computed beside others that decode.
  for (let step = 0; engine.hasWork || step < requests.length; step++) {
    const arriving = requests[step];
    if (arriving) engine.add(arriving);
    for (const { id, tokenId, error } of engine.step()) {
      if (error !== undefined) throw new Error(error);
      tokens.set(id, [...(tokens.get(id) ?? []), tokenId]);
    }
  }
  return tokens;
}

describe('the paged decoder graph', () => {
  it('is what the operator takes, and lacks a kernel on the CPU', async () => {
    const { pagedGraphPath } = await prepareModel(...models.randomTiny);
    // Once the graph has passed the checks, ONNX Runtime looks for a kernel in float32, in vain.
    expect(() => new Session(pagedGraphPath)).toThrow(/InsertedPrecisionFreeCast.*PagedAttention/);
  });

  it('gives the texts of the one with rows, with prefixes shared and little memory', async () => {
    const model = await prepareModel(...models.randomTiny);
    const config = parseDecoderConfig(PRESETS.tiny, 'tiny');
    const text = Array.from({ length: 64 }, (_, i) => (i * 37 + 11) % config.vocabSize);
    const requests = Array.from({ length: 12 }, (_, index) =>
      engineRequest({
        id: index + 1,
        arrivalMs: index,
        // The last ones are of whole blocks that the first ones have.
        promptTokenIds: Int32Array.from(text.slice(0, [50, 20, 32, 16][index % 4])),
        maxTokens: 30 + index,
        sampling: { temperature: 0.8, seed: BigInt(index) },
      }),
    );
    const rows = openEngine({
      model,
      ...LIMITS,
      maxModelLen: 96,
      threads: 1,
      kvCacheMemory: 2 ** 28,
      prefixCaching: false,
    });
    const expected = run(rows.engine, requests);
    rows.decoder.release();

    const [blockSize, numBlocks] = [16, 6];
    const kvCache = new PagedKvCache({ numRows: 4, capacity: 96, numBlocks, blockSize });
    const costs = new CostModel();
    const scheduler = new Scheduler(kvCache, costs, LIMITS);
    const decoder = new PagedDecoder(new CpuPagedModel(model, config, numBlocks, blockSize));
    const sampler = new Sampler(config.vocabSize);
    const engine = new Engine({ scheduler, kvCache, decoder, sampler, costs });
    expect(run(engine, requests)).toEqual(expected);
    expect(engine.stats.prefixCacheHits).toBeGreaterThan(0);
    expect(engine.stats.numPreemptions).toBeGreaterThan(0);
    decoder.release();
  });
});
