/** Models whose tokens have positions of frames, rows and columns: texts are those of Transformers. */
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { calibrateKv } from '../../../src/engine/cpu/kv-calibration.ts';
import { fillImagePositions } from '../../../src/engine/image-positions.ts';
import { NUM_AXES } from '../../../src/model/graph/image-positions.ts';
import { openEngine } from '../../../src/engine/process/open-engine.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import type { EngineRequest, PromptEmbeddings, TokenOutput } from '../../../src/engine/request.ts';
import type { BuildOptions } from '../../../src/model/build/build-options.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { bitsOf, runCrashing } from '../../support/crashing-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { QWEN_MODELS, visionFolder, visionGguf } from '../../support/vision.ts';
import { expectTextsAfterCrashes, visionRequests } from '../../support/vision-requests.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

type Given = Pick<EngineRequest, 'embeddings'>;

function positionsOf(request: Given, start: number, numTokens: number): number[][] {
  const axes = Array.from({ length: NUM_AXES }, () => new BigInt64Array(numTokens));
  fillImagePositions(axes, 0, request, start, numTokens);
  return axes.map((axis) => Array.from(axis, Number));
}

function image(start: number, height: number, width: number): PromptEmbeddings {
  return { start, rows: new Float32Array(), grid: { height, width } };
}

describe('positions', () => {
  it('count on in a text, and along the sides of an image', () => {
    const request: Given = { embeddings: [image(2, 2, 3), image(9, 3, 1)] };
    expect(positionsOf(request, 0, 14)).toEqual([
      [0, 1, 2, 2, 2, 2, 2, 2, 5, 6, 6, 6, 9, 10],
      [0, 1, 2, 2, 2, 3, 3, 3, 5, 6, 7, 8, 9, 10],
      [0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 6, 6, 9, 10],
    ]);
    expect(positionsOf({}, 3, 2)).toEqual([
      [3, 4],
      [3, 4],
      [3, 4],
    ]);
  });

  it('are the same from wherever they are asked for', () => {
    const images = fc.array(
      fc.record({
        gap: fc.nat(3),
        height: fc.integer({ min: 1, max: 4 }),
        width: fc.integer({ min: 1, max: 4 }),
      }),
      { maxLength: 3 },
    );
    fc.assert(
      fc.property(images, fc.nat(60), fc.nat(60), (all, from, length) => {
        let end = 0;
        const embeddings = all.map(({ gap, height, width }) => {
          const start = end + gap;
          end = start + height * width;
          return image(start, height, width);
        });
        const whole = positionsOf({ embeddings }, 0, 120);
        const part = positionsOf({ embeddings }, from, length);
        expect(part).toEqual(whole.map((axis) => axis.slice(from, from + length)));
      }),
    );
  });
});

const requestsOf = (name: string) =>
  visionRequests(name, 5, ({ rows: height, columns: width }) => ({
    numTokens: height * width,
    grid: { height, width },
  }));

const FORMATS: readonly Pick<BuildOptions, 'precision' | 'nativeKernels' | 'calibrateKv'>[] = [
  { precision: 'fp32' },
  { precision: 'int8' },
  { precision: 'int8', calibrateKv },
  { precision: 'int8', nativeKernels: { kvCacheDtype: 'int8' } },
  { precision: 'int8-blocks', nativeKernels: { kvCacheDtype: 'float32' } },
];

const options = { cacheDirectory: cache.path, takesEmbeddings: true, maxModelLen: 128 };

describe.each(QWEN_MODELS)('%s', (name) => {
  const source = { kind: 'folder', path: visionFolder(name) } as const;

  it(
    'says what Transformers says, in any batch and any chunks, after a crash',
    needs(LINUX),
    async () => {
      const model = await prepareModel(source, { ...options, precision: 'fp32' });
      expectTextsAfterCrashes(model, await requestsOf(name));
    },
  );

  it('says the same of GGUF', needs(LINUX), async () => {
    const gguf = { kind: 'folder', path: visionGguf(name) } as const;
    const model = await prepareModel(gguf, { ...options, precision: 'fp32' });
    expectTextsAfterCrashes(model, await requestsOf(name));
  });
});

describe.each(everyOrLong(3, QWEN_MODELS))('%s', (name) => {
  const source = { kind: 'folder', path: visionFolder(name) } as const;

  it.each(everyOrLong(3, FORMATS))('turns heads by the grid in %o', async (format) => {
    const model = await prepareModel(source, { ...options, ...format });
    const requests = (await requestsOf(name)).map(({ request }) => request);
    const run = (all: readonly EngineRequest[], budget: number) =>
      runCrashing(
        model,
        budget,
        all.map((request) => ({ atStep: 0, request })),
        [],
      );
    const whole = run(requests, 128);
    const cut = run(requests, 24);
    const flat = run(
      requests.map(({ embeddings = [], ...request }) => ({
        ...request,
        embeddings: embeddings.map(({ start, rows }) => ({ start, rows })),
      })),
      128,
    );
    for (const { id } of requests) {
      expect(bitsOf(cut.get(id))).toEqual(bitsOf(whole.get(id)));
      expect(bitsOf(flat.get(id))).not.toEqual(bitsOf(whole.get(id)));
    }
  });

  it('has the same text with drafts', async () => {
    // With kernels that give a token the same bits however it is computed.
    const native = { precision: 'int8', nativeKernels: { kvCacheDtype: 'float32' } } as const;
    const model = await prepareModel(source, { ...options, ...native });
    const [given] = await requestsOf(name);
    const { start: first = 0, rows, grid } = given?.request.embeddings?.[0] ?? {};
    if (given === undefined || rows === undefined || grid === undefined)
      throw new Error('no image');
    const { promptTokenIds: once } = given.request;
    // The same image twice, so that the text before it leads to what came after.
    const promptTokenIds = Int32Array.from([...once, ...once, ...once.subarray(0, first)]);
    const embeddings = [first, once.length + first].map((start) => ({ start, rows, grid }));
    const request = engineRequest({
      id: 1,
      promptTokenIds,
      embeddings,
      maxTokens: 30,
      logprobs: 3,
    });
    const run = (speculative: EngineOptions['speculative']) => {
      const { engine, decoder, speculator } = openEngine({
        model,
        maxNumSeqs: 1,
        maxModelLen: 128,
        maxNumBatchedTokens: 128,
        threads: 1,
        kvCacheMemory: 2 ** 28,
        prefixCaching: true,
        targetItlMs: null,
        ...(speculative && { speculative }),
      });
      engine.add(request);
      const outputs: TokenOutput[] = [];
      while (engine.hasWork) outputs.push(...engine.step());
      speculator?.release();
      decoder.release();
      return { bits: bitsOf(outputs), drafts: engine.stats.numDrafts };
    };
    const drafted = run({ draftModel: null, maxTokens: 6, minGain: 0 });
    expect(drafted.drafts).toBeGreaterThan(0);
    expect(drafted.bits).toEqual(run(undefined).bits);
  });

  it('is a graph of one position where it takes text alone', async () => {
    const text = { cacheDirectory: cache.path, maxModelLen: 128, precision: 'fp32' } as const;
    const model = await prepareModel(source, text);
    const request = engineRequest({
      id: 1,
      promptTokenIds: Int32Array.of(9, 8, 7, 30),
      logprobs: 3,
    });
    const seeing = await prepareModel(source, { ...options, precision: 'fp32' });
    const tokens = (of: typeof model) =>
      runCrashing(of, 128, [{ atStep: 0, request }], [])
        .get(1)
        ?.map(({ tokenId }) => tokenId);
    expect(tokens(seeing)).toEqual(tokens(model));
  });
});
