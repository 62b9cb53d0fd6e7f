import { afterAll, describe, expect, it } from 'vitest';
import { join } from 'node:path';
import { CostModel } from '../../../../src/engine/costs/cost-model.ts';
import { CPU_DEVICE } from '../../../../src/engine/gpu/device-options.ts';
import { DevicePagedModel } from '../../../../src/engine/gpu/paged/device-paged-model.ts';
import { Engine } from '../../../../src/engine/engine.ts';
import type { EngineRequest } from '../../../../src/engine/request.ts';
import { openEngine } from '../../../../src/engine/process/open-engine.ts';
import { PagedDecoder } from '../../../../src/engine/gpu/paged/paged-decoder.ts';
import { PagedKvCache } from '../../../../src/engine/gpu/paged/paged-kv-cache.ts';
import { Sampler } from '../../../../src/engine/sampling/sampler.ts';
import { Scheduler } from '../../../../src/engine/scheduling/scheduler.ts';
import { packSegments } from '../../../../src/engine/gpu/paged/paged-batch.ts';
import { type Segment, segmentOf } from '../../../../src/engine/step.ts';
import { Sequence } from '../../../../src/engine/sequence.ts';
import { prepareModel } from '../../../../src/model/build/prepare-model.ts';
import { parseDecoderConfig } from '../../../../src/model/huggingface/config.ts';
import { buildPagedGraph } from '../../../../src/model/graph/decoder-graph.ts';
import { PRESETS } from '../../../../src/model/huggingface/presets.ts';
import { RandomWeights } from '../../../../src/model/huggingface/random-weights.ts';
import { Session } from '../../../../src/ort/session.ts';
import { builtModels } from '../../../support/built-models.ts';
import { CpuPagedModel } from '../../../support/cpu-paged-model.ts';
import { engineRequest } from '../../../support/engine-requests.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const models = await builtModels();
afterAll(() => models.remove());

const LIMITS = {
  maxNumSeqs: 4,
  maxNumBatchedTokens: 48,
  targetItlMs: null,
} as const;

const config = parseDecoderConfig(PRESETS.tiny, 'tiny');

/** The graph in float32, in which no provider has it. */
async function float32Graph(): Promise<string> {
  const path = join(await temporaryDirectory(), 'paged.onnx');
  await buildPagedGraph(config, new RandomWeights(1), { precision: 'fp32' }).write(path);
  return path;
}

async function float16Graph(precision: 'fp16' | 'int4'): Promise<string> {
  const [source, options] = models.randomTiny;
  const half = { ...options, precision, activationDtype: 'float16' } as const;
  const { pagedGraphPath } = await prepareModel(source, half);
  if (pagedGraphPath === null) throw new Error('there is no paged graph');
  return pagedGraphPath;
}

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
  it.each(['fp16', 'int4'] as const)(
    'is what the operator takes, and lacks a kernel on the CPU: %s',
    async (precision) => {
      const path = await float16Graph(precision);
      // Once the graph has passed the checks, ONNX Runtime looks for a kernel in float32, in vain.
      expect(() => new Session(path)).toThrow(/InsertedPrecisionFreeCast.*PagedAttention/);
    },
  );

  it('is refused, with the reason, on the CPU and for a model that was built in float32', async () => {
    const model = await prepareModel(...models.randomTiny);
    const kvCacheMemory = 2 ** 28;
    const options = { model, ...LIMITS, maxModelLen: 96, threads: 1, kvCacheMemory };
    const open = () => openEngine({ ...options, prefixCaching: false, attention: 'paged' });
    expect(open).toThrow('the CPU has no kernel for PagedAttention');
    const device = { ...CPU_DEVICE, name: 'webgpu' } as const;
    const pool = { numPages: 6, pageLength: 16, numLogits: 4 };
    expect(() => new DevicePagedModel(model, { device, ...pool })).toThrow('built in float32');
  });

  it('computes in float16 what it does in float32', async () => {
    const pool = { numPages: 6, pageLength: 16 };
    const exact = new CpuPagedModel(await float32Graph(), config, pool);
    const half = new CpuPagedModel(await float16Graph('fp16'), config, pool, 'float16');
    const [first, second] = [17, 40].map((length, id) => {
      const promptTokenIds = Int32Array.from({ length }, (_, i) => 3 + ((i * 7 + id * 31) % 400));
      return new Sequence(engineRequest({ id, promptTokenIds }));
    });
    if (!first || !second) throw new Error('no sequences');
    first.pageTable = [4, 1];
    second.pageTable = [0, 5, 2];
    const segment = (sequence: Sequence, start: number, end: number): Segment => {
      return { ...segmentOf(sequence, end - start, start), numLogits: 1 };
    };
    let [worst, largest] = [0, 0];
    // Two chunks, a token beside a chunk, and two tokens.
    for (const segments of [
      [segment(first, 0, 15), segment(second, 0, 20)],
      [segment(first, 15, 16), segment(second, 20, 39)],
      [segment(first, 16, 17), segment(second, 39, 40)],
    ]) {
      const batch = packSegments(segments, pool.pageLength);
      const [expected, actual] = [exact, half].map((model) => {
        model.run(batch);
        return model.read(segments);
      });
      for (const [row, { logits }] of (expected ?? []).entries()) {
        for (const [id, logit] of (logits[0] ?? []).entries()) {
          largest = Math.max(largest, Math.abs(logit));
          worst = Math.max(worst, Math.abs(logit - (actual?.[row]?.logits[0]?.[id] ?? NaN)));
        }
      }
    }
    // float16 rounds by 2^-11 at each of the graph's nodes; 2^-12 was measured.
    expect(worst).toBeLessThan(2 ** -9 * largest);
    for (const model of [exact, half]) model.release();
  });

  it('gives the texts of the one with slots, with prefixes shared and little memory', async () => {
    const model = await prepareModel(...models.randomTiny);
    const text = Array.from({ length: 64 }, (_, i) => (i * 37 + 11) % config.vocabSize);
    const requests = Array.from({ length: 12 }, (_, index) =>
      engineRequest({
        id: index + 1,
        arrivalMs: index,
        // The last ones are of whole pages that the first ones have.
        promptTokenIds: Int32Array.from(text.slice(0, [50, 20, 32, 16][index % 4])),
        maxTokens: 30 + index,
        sampling: { temperature: 0.8, seed: BigInt(index) },
      }),
    );
    const slots = openEngine({
      model,
      ...LIMITS,
      maxModelLen: 96,
      threads: 1,
      kvCacheMemory: 2 ** 28,
      prefixCaching: false,
    });
    const expected = run(slots.engine, requests);
    slots.decoder.release();

    const [pageLength, numPages] = [16, 6];
    const kvCache = new PagedKvCache({ numSlots: 4, capacity: 96, numPages, pageLength });
    const costs = new CostModel({ runsStepsWhole: true });
    const scheduler = new Scheduler(kvCache, costs, LIMITS);
    const pool = { numPages, pageLength };
    const decoder = new PagedDecoder(new CpuPagedModel(await float32Graph(), config, pool));
    const sampler = new Sampler(config.vocabSize);
    const engine = new Engine({ scheduler, kvCache, decoder, sampler, costs });
    expect(run(engine, requests)).toEqual(expected);
    expect(engine.stats.prefixCacheHits).toBeGreaterThan(0);
    expect(engine.stats.numPreemptions).toBeGreaterThan(0);
    decoder.release();
  });
});
