import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { CpuDecoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { EngineRequest, TokenOutput } from '../../../src/engine/request.ts';
import type { LoopStats } from '../../../src/engine/stats.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import { type OpenedEngine, openEngine } from '../../../src/engine/process/open-engine.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { segmentOf } from '../../../src/engine/step.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { builtModels } from '../../support/built-models.ts';
import { orLong } from '../../support/long-runs.ts';

interface Reference {
  readonly prompts: readonly {
    readonly prompt: string;
    readonly ids: number[];
    readonly top_ids: number[];
    readonly top_logits: number[];
    readonly greedy: number[];
  }[];
}

const models = await builtModels();
afterAll(() => models.remove());

function open(model: BuiltModel, options: Partial<EngineOptions> = {}): OpenedEngine {
  return openEngine({
    model,
    maxNumSeqs: 8,
    maxModelLen: 256,
    maxNumBatchedTokens: 256,
    threads: 1,
    kvCacheMemory: 2 ** 30,
    prefixCaching: false,
    targetItlMs: null,
    ...options,
  });
}

/** Runs requests to their end; `before` is called ahead of every step. */
function run(
  engine: Engine,
  requests: readonly EngineRequest[],
  before: (step: number) => void = () => {},
): Map<number, TokenOutput[]> {
  const outputs = new Map<number, TokenOutput[]>();
  for (const request of requests) engine.add(request);
  for (let step = 0; engine.hasWork || step === 0; step++) {
    before(step);
    for (const output of engine.step()) {
      outputs.set(output.id, [...(outputs.get(output.id) ?? []), output]);
    }
  }
  return outputs;
}

const tokensOf = (outputs: readonly TokenOutput[] = []) => outputs.map(({ tokenId }) => tokenId);

describe.each(['summit', 'foothill'])('%s, against its reference', (name) => {
  const file = readFileSync(`models/${name}/reference.json`, 'utf8');
  const { prompts } = JSON.parse(file) as Reference;

  it('computes the same logits', async () => {
    const model = await models.get(name);
    const decoder = new CpuDecoder(model, { numSlots: 1, maxModelLen: 256 });
    let worst = 0;
    for (const { ids, top_ids, top_logits } of prompts) {
      const sequence = new Sequence(engineRequest({ promptTokenIds: Int32Array.from(ids) }));
      sequence.slot = 0;
      const plan = { cacheOperations: [], segments: [segmentOf(sequence, ids.length)] };
      const logits = decoder.execute(plan).logits[0]?.logits[0] ?? new Float32Array();
      const best = [...logits.keys()].sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0));
      expect(best.slice(0, 10)).toEqual(top_ids);
      for (const [rank, id] of top_ids.entries()) {
        worst = Math.max(worst, Math.abs((logits[id] ?? 0) - (top_logits[rank] ?? 0)));
      }
    }
    decoder.release();
    expect(prompts).toHaveLength(12);
    expect(worst).toBeLessThan(2e-3);
  });

  it('continues all prompts, in one batch, with the same 48 tokens', async () => {
    const { engine, decoder } = open(await models.get(name), { maxNumSeqs: 12 });
    const requests = prompts.map(({ ids }, id) =>
      engineRequest({ id, promptTokenIds: Int32Array.from(ids), maxTokens: 48 }),
    );
    const outputs = run(engine, requests);
    decoder.release();
    for (const [id, { greedy }] of prompts.entries()) {
      expect(greedy).toHaveLength(48);
      expect(tokensOf(outputs.get(id))).toEqual(greedy);
    }
  });
});

/** Prompts of many lengths, cut out of the reference's. */
function mixedRequests(count: number, sampling: EngineRequest['sampling']): EngineRequest[] {
  const file = readFileSync('models/summit/reference.json', 'utf8');
  const { prompts } = JSON.parse(file) as Reference;
  return Array.from({ length: count }, (_, id) => {
    const { ids, greedy } = prompts[id % prompts.length] ?? { ids: [1], greedy: [1] };
    const text = [...ids, ...greedy, ...ids];
    const promptTokenIds = Int32Array.from(
      text.slice(0, 3 + ((id * 37) % (Math.min(text.length, 160) - 3))),
    );
    return engineRequest({
      id,
      promptTokenIds,
      maxTokens: 4 + ((id * 13) % 40),
      sampling: { ...sampling, seed: BigInt(id) },
    });
  });
}

/** The setting of `npm test` comes first. */
const SETTINGS = [
  ['float16', 'int4', 'native', 1.7],
  ['float32', 'fp32', 'onnxruntime', 2.2],
  ['int8', 'fp32', 'onnxruntime', 1.2],
  ['float32', 'int8', 'native', 2.2],
  // All the tokens of one lie in a page.
  ['int4', 'int8', 'native', null],
] as const;

describe.each(SETTINGS.slice(0, orLong(1, SETTINGS.length)))(
  'continuous batching, %s KV cache, %s, %s',
  (kvCacheDtype, precision, kernels, mib) => {
    const summit = () => models.get('summit', kvCacheDtype, precision, kernels);
    const scarce = { kvCacheMemory: (mib ?? 0) * 2 ** 20 };
    const greedy = engineRequest().sampling;
    const seeded = { ...greedy, temperature: 0.8, topP: 0.9 };

    it.each([
      ['greedy', greedy],
      ['seeded', seeded],
    ])(
      'gives 32 %s requests the text they get alone, while others come and go',
      async (_, sampling) => {
        const model = await summit();
        const requests = mixedRequests(32, sampling);
        const alone = open(model, { maxNumSeqs: 1 });
        const expected = requests.map((request) =>
          tokensOf(run(alone.engine, [request]).get(request.id)),
        );
        alone.decoder.release();

        const together = open(model, { maxNumSeqs: 6, maxNumBatchedTokens: 24 });
        const cancelled = new Set([3, 11, 20, 27]);
        const outputs = run(together.engine, requests.slice(0, 8), (step) => {
          // One arrival every other step, and four that leave in the middle of their text.
          const arriving = step % 2 === 0 ? requests[8 + step / 2] : undefined;
          if (arriving) together.engine.add(arriving);
          if (step % 30 === 29) together.engine.abort([...cancelled][(step - 29) / 30] ?? -1);
        });
        together.decoder.release();
        for (const { id } of requests) {
          const tokens = tokensOf(outputs.get(id));
          expect(tokens).toEqual(expected[id]?.slice(0, tokens.length));
        }
        const unfinished = requests.filter(
          ({ id, maxTokens }) => outputs.get(id)?.length !== maxTokens,
        );
        expect(unfinished.length).toBeLessThanOrEqual(cancelled.size);
        expect(unfinished.every(({ id }) => cancelled.has(id))).toBe(true);
        expect(together.kvCache.usage).toBe(0);
      },
    );

    // Long enough that all outgrow the memory they began with.
    const longRequests = mixedRequests(orLong(16, 24), seeded).map((request) => ({
      ...request,
      maxTokens: Math.min(orLong(64, 100), 224 - request.promptTokenIds.length),
    }));
    let undisturbed: readonly number[][] | undefined;
    /** Tokens that each gets alone, prompts taken whole. */
    function textsOf(model: BuiltModel): readonly number[][] {
      if (undisturbed) return undisturbed;
      const plain = open(model, { maxNumSeqs: 1, maxModelLen: 224, maxNumBatchedTokens: 4096 });
      undisturbed = longRequests.map((request) =>
        tokensOf(run(plain.engine, [request]).get(request.id)),
      );
      plain.decoder.release();
      return undisturbed;
    }

    const cases: [string, Partial<EngineOptions>, keyof LoopStats | null][] = [
      ['prefixes from the cache', { prefixCaching: true }, 'prefixCacheHits'],
      ['memory for a third of them', scarce, 'numPreemptions'],
      ['both', { ...scarce, prefixCaching: true }, 'numPreemptions'],
      ['prompts in small chunks', { maxNumBatchedTokens: 9 }, null],
      ['prompts joined into padded runs', { maxNumBatchedTokens: 4096 }, null],
    ];
    it.each(cases.filter(([, { kvCacheMemory }]) => mib !== null || kvCacheMemory === undefined))(
      'gives the same text with %s',
      async (_, options, counter) => {
        const model = await summit();
        const expected = textsOf(model);
        const { engine, decoder } = open(model, { maxModelLen: 224, ...options });
        const outputs = run(engine, longRequests);
        for (const { id } of longRequests) expect(tokensOf(outputs.get(id))).toEqual(expected[id]);
        // Which prompts are still there while others run depends on time; the last ones are for certain.
        const again = longRequests
          .slice(-4)
          .map((request) => ({ ...request, id: request.id + 100 }));
        const repeated = run(engine, again);
        for (const { id } of again) {
          expect(tokensOf(repeated.get(id))).toEqual(expected[id - 100]);
        }
        expect(counter === null || engine.stats[counter] > 0).toBe(true);
        decoder.release();
      },
    );

    it('goes on after a restart with the same tokens', async () => {
      const { engine, decoder } = open(await summit());
      const [request] = mixedRequests(1, seeded);
      if (!request) throw new Error('no request');
      const whole = tokensOf(run(engine, [{ ...request, maxTokens: 30 }]).get(0));
      const outputTokenIds = Int32Array.from(whole.slice(0, 11));
      const rest = run(engine, [{ ...request, maxTokens: 30, outputTokenIds }]).get(0);
      decoder.release();
      expect(tokensOf(rest)).toEqual(whole.slice(11));
    });

    it('fails only the sequence that the model refuses', async () => {
      const { engine, decoder } = open(await summit());
      const requests = mixedRequests(4, greedy);
      const expected = run(engine, requests);
      const outside = engineRequest({ id: 99, promptTokenIds: Int32Array.of(1, 1_000_000, 2) });
      // A prompt of one token goes through the shared decode run, which has to be split.
      const single = engineRequest({ id: 98, promptTokenIds: Int32Array.of(1_000_000) });
      const outputs = run(engine, [...requests.slice(0, 2), single, ...requests.slice(2), outside]);
      decoder.release();
      for (const id of [98, 99]) {
        expect(outputs.get(id)).toEqual([
          {
            id,
            tokenId: -1,
            finishReason: 'error',
            error: expect.stringMatching(/out of (data )?bounds|range/),
          },
        ]);
      }
      for (const { id } of requests) expect(outputs.get(id)).toEqual(expected.get(id));
    });

    it('fills a row to its last position', async () => {
      const { engine, decoder } = open(await summit(), { maxModelLen: 64 });
      const promptTokenIds = Int32Array.from({ length: 30 }, (_, index) => 10 + index);
      const outputs = run(engine, [engineRequest({ promptTokenIds, maxTokens: 34 })]);
      decoder.release();
      expect(outputs.get(1)).toHaveLength(34);
      expect(outputs.get(1)?.at(-1)?.finishReason).toBe('length');
    });
  },
);

it('runs shapes with random weights', async () => {
  const model = await prepareModel(...models.randomTiny);
  const { engine, decoder } = open(model, { maxModelLen: 64 });
  const outputs = run(engine, [engineRequest({ maxTokens: 5 })]);
  decoder.release();
  expect(outputs.get(1)).toHaveLength(5);
});
