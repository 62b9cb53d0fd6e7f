/** Drafts for models whose layers have states: texts stay the same, and a wrong token costs more. */
import { readdirSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { CostModel } from '../../../src/engine/costs/cost-model.ts';
import { openEngine } from '../../../src/engine/process/open-engine.ts';
import type { EngineRequest } from '../../../src/engine/request.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { Speculator } from '../../../src/engine/speculation/speculator.ts';
import { segmentOf } from '../../../src/engine/step.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { CheckedSlots } from '../../support/checked-slots.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { HYBRID_FIXTURES } from '../../support/family-text.ts';
import { longHybrid } from '../../support/hybrid-engine.ts';
import { RandomDrafts } from '../../support/random-drafts.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const LETTERS = Array.from('abcdefghijklmnopqrstuvwxyz0123456789 :,{}');
const WORDS = ['name', 'age', '":"', '","', '{"', '"}'];
/** A text for each token; those that are empty are for no grammar. */
const tokens = [...LETTERS, ...WORDS, '"'].concat(Array.from({ length: 16 }, () => ''));
const EOS = 63;
const grammar = {
  ebnf: 'root ::= ("{\\"name\\":\\"" [a-z]{1,3} "\\",\\"age\\":\\"" [0-9]{1,2} "\\"}"){4}',
  field: 'test',
};

async function run(model: BuiltModel, requests: readonly EngineRequest[], isSpeculative: boolean) {
  const { engine, decoder, speculator } = openEngine({
    model,
    maxNumSeqs: 2,
    maxModelLen: 512,
    maxNumBatchedTokens: 100,
    threads: 1,
    kvCacheMemory: 2 ** 23,
    prefixCaching: true,
    targetItlMs: null,
    grammarVocabulary: { tokens, vocabSize: 64, eosTokenIds: [EOS] },
    speculative: isSpeculative ? { draftModel: null, maxTokens: 8, minGain: 0 } : null,
  });
  await engine.compileGrammar(grammar);
  const outputs = new Map(requests.map(({ id }) => [id, [] as number[]]));
  for (const request of requests) engine.add(request);
  while (engine.hasWork) {
    for (const { id, tokenId } of engine.step()) outputs.get(id)?.push(tokenId);
  }
  speculator?.release();
  decoder.release();
  return { outputs, stats: engine.stats };
}

/** Texts that a random model repeats, and such as a grammar repeats. */
function requestsOf(isConstrained: boolean): EngineRequest[] {
  return Array.from({ length: 6 }, (_, id) => {
    const promptTokenIds = Int32Array.from({ length: 30 + 41 * (id % 3) }, (_each, at) => {
      return (at * (3 + (id >> 1))) % 17;
    });
    const sampling = { temperature: id % 2 === 0 ? 0 : 0.6, seed: BigInt(id) };
    const request = engineRequest({ id, promptTokenIds, maxTokens: 90, sampling });
    return isConstrained && id < 4 ? { ...request, grammar, stopTokenIds: [EOS] } : request;
  });
}

describe.each(everyOrLong(3, readdirSync(HYBRID_FIXTURES).toSorted()))('%s with drafts', (name) => {
  /** Expects the same texts with drafts, of which some tokens came true. @returns counters of that run */
  async function expectTheSame(requests: readonly EngineRequest[]) {
    const source = { kind: 'folder', path: await longHybrid(name, cache.path) } as const;
    const nativeKernels = { kvCacheDtype: 'float32' } as const;
    const options = { precision: 'int8', nativeKernels, cacheDirectory: cache.path } as const;
    const model = await prepareModel(source, options);
    const plain = await run(model, requests, false);
    const { outputs, stats } = await run(model, requests, true);
    expect(outputs).toEqual(plain.outputs);
    expect(stats.numAcceptedTokens).toBeGreaterThan(0);
    expect(stats.numAcceptedTokens).toBeLessThan(stats.numDraftTokens);
    return stats;
  }

  it('writes what it writes without', async () => {
    await expectTheSame(requestsOf(false));
  });

  it('writes what grammars force', async () => {
    const stats = await expectTheSame(requestsOf(true));
    expect(stats.numForcedAcceptedTokens).toBeGreaterThan(0);
  });
});

describe('the length of a draft', () => {
  class FixedCosts extends CostModel {
    override get knowsDecode(): boolean {
      return true;
    }

    override plainMs(spans: readonly unknown[]): number {
      return spans.length;
    }

    override verifyMs(_position: number, numDraftTokens: number): number {
      return 1 + 0.2 * numDraftTokens;
    }
  }

  class DraftsOfRate extends RandomDrafts {
    readonly #rate: number;

    constructor(rate: number) {
      super(1, false);
      this.#rate = rate;
    }

    override priorRate(): number {
      return this.#rate;
    }
  }

  /** @param most tokens that states let a draft have; null without states */
  function lengthOf(rate: number, most: number | null): number {
    const { kvCache } = new CheckedSlots({ maxNumSeqs: 1, capacity: 64 });
    const sequence = new Sequence(
      engineRequest({ promptTokenIds: Int32Array.of(1), maxTokens: 60 }),
    );
    kvCache.reserve(sequence, 0);
    const speculator = new Speculator({
      source: new DraftsOfRate(rate),
      kvCache,
      costs: new FixedCosts(),
      states: most === null ? null : { maxDraftTokens: () => most },
      maxTokens: 8,
      maxNumBatchedTokens: 64,
    });
    const [segment] = speculator.draft([segmentOf(sequence, 1)], true);
    return segment?.draftTokenIds.length ?? 0;
  }

  it('is less where a part of it would be computed again, and it is left be sooner', () => {
    const rates = [0.95, 0.8, 0.6, 0.4, 0.2];
    expect(rates.map((rate) => lengthOf(rate, null))).toEqual([8, 4, 2, 1, 0]);
    expect(rates.map((rate) => lengthOf(rate, 8))).toEqual([8, 3, 1, 0, 0]);
  });

  it('is what states allow at most', () => {
    expect([8, 2, 0].map((most) => lengthOf(0.95, most))).toEqual([8, 2, 0]);
  });
});
