/** Gemma 3, in which the tokens of an image see each other: texts are those of Transformers. */
import { afterAll, describe, expect, it } from 'vitest';
import { openEngine } from '../../../src/engine/process/open-engine.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import type { EngineRequest, TokenOutput } from '../../../src/engine/request.ts';
import type { BuildOptions } from '../../../src/model/build/build-options.ts';
import { calibrateKv } from '../../../src/engine/cpu/kv-calibration.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';
import { bitsOf, MAX_SEQS } from '../../support/crashing-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { visionFolder, visionGguf } from '../../support/vision.ts';
import { expectTextsAfterCrashes, visionRequests } from '../../support/vision-requests.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const SOURCE = { kind: 'folder', path: visionFolder('gemma3') } as const;
const OPTIONS = { cacheDirectory: cache.path, takesEmbeddings: true, maxModelLen: 128 };
const NATIVE = { precision: 'int8', nativeKernels: { kvCacheDtype: 'float32' } } as const;
const IMAGE_TOKEN = 6;
const TOKENS = 16;

const requestsOf = () =>
  visionRequests('gemma3', IMAGE_TOKEN, (_, start) => ({
    numTokens: TOKENS,
    attentionEnd: start + TOKENS,
  }));

/** The same, but that every token sees those before it alone. */
function causal({ embeddings = [], ...request }: EngineRequest): EngineRequest {
  return { ...request, embeddings: embeddings.map(({ start, rows }) => ({ start, rows })) };
}

/** The beginning of a request, up to a number of tokens of its image. */
function upTo(request: EngineRequest, numSeen: number, id: number): EngineRequest {
  const embeddings = request.embeddings?.slice(0, 1) ?? [];
  const promptTokenIds = request.promptTokenIds.slice(0, (embeddings[0]?.start ?? 0) + numSeen);
  return { ...request, id, promptTokenIds, embeddings };
}

interface Run {
  readonly outputs: readonly TokenOutput[][];
  readonly numPreemptions: number;
  readonly numTokens: readonly number[];
}

/** One after the other, or all at once. */
function run(
  model: BuiltModel,
  requests: readonly EngineRequest[],
  { together = false, ...given }: Partial<EngineOptions> & { readonly together?: boolean } = {},
): Run {
  const { engine, decoder } = openEngine({
    model,
    maxNumSeqs: MAX_SEQS,
    maxModelLen: 128,
    maxNumBatchedTokens: 128,
    threads: 2,
    kvCacheMemory: 2 ** 28,
    prefixCaching: true,
    targetItlMs: null,
    ...given,
  });
  const outputs = new Map(requests.map(({ id }) => [id, [] as TokenOutput[]]));
  const numTokens: number[] = [];
  const finish = (): void => {
    while (engine.hasWork) {
      for (const output of engine.step()) outputs.get(output.id)?.push(output);
      numTokens.push(engine.stats.stepTokens);
    }
  };
  for (const request of requests) {
    engine.add(request);
    if (!together) finish();
  }
  finish();
  const { numPreemptions } = engine.stats;
  decoder.release();
  return { outputs: [...outputs.values()], numPreemptions, numTokens };
}

const bitsOfAll = ({ outputs }: Run) => outputs.map((each) => bitsOf(each));

it.each([visionFolder('gemma3'), visionGguf('gemma3')])(
  'says what Transformers says, in any batch and any chunks, after a crash, of %s',
  needs(LINUX),
  async (path) => {
    const source = { kind: 'folder', path } as const;
    const model = await prepareModel(source, { ...OPTIONS, precision: 'fp32' });
    const requests = await requestsOf();
    expectTextsAfterCrashes(model, requests);
    // Where each token sees those before it alone, it says something else.
    const others = run(
      model,
      requests.map(({ request }) => causal(request)),
    );
    for (const [index, { greedy }] of requests.entries()) {
      expect(others.outputs[index]?.map(({ tokenId }) => tokenId)).not.toEqual(greedy);
    }
  },
);

const FORMATS: readonly Pick<BuildOptions, 'precision' | 'nativeKernels'>[] = [
  { precision: 'fp32' },
  { precision: 'int8' },
  NATIVE,
  { precision: 'int8', nativeKernels: { kvCacheDtype: 'int8' } },
  { precision: 'int8-blocks', nativeKernels: { kvCacheDtype: 'float16' } },
];

it.each(everyOrLong(2, FORMATS))(
  'computes an image at once, whatever the chunks, in %o',
  async (format) => {
    const model = await prepareModel(SOURCE, { ...OPTIONS, ...format });
    const requests = (await requestsOf()).map(({ request }) => request);
    const whole = run(model, requests, { together: true });
    for (const maxNumBatchedTokens of everyOrLong(2, [5, 11, 16, 40])) {
      const cut = run(model, requests, { together: true, maxNumBatchedTokens });
      expect(bitsOfAll(cut)).toEqual(bitsOfAll(whole));
      // No more than the budget, but for an image.
      expect(Math.max(...cut.numTokens)).toBeLessThan(maxNumBatchedTokens + TOKENS);
    }
    const flat = run(model, requests.map(causal), { together: true });
    for (const [index, bits] of bitsOfAll(flat).entries()) {
      expect(bits).not.toEqual(bitsOfAll(whole)[index]);
    }
  },
);

describe('the prefix cache', () => {
  it('finds an image again, and what is left of one', async () => {
    const model = await prepareModel(SOURCE, { ...OPTIONS, ...NATIVE });
    const [{ request } = { request: engineRequest({ id: 0 }) }] = await requestsOf();
    const { promptTokenIds } = request;
    const [first] = request.embeddings ?? [];
    const end = first?.attentionEnd ?? 0;
    // Ends with its image, of which the last token is computed again; goes on with another text behind it.
    const imageLast = upTo(request, TOKENS, 2);
    const other = { ...request, id: 3, promptTokenIds: promptTokenIds.slice() };
    other.promptTokenIds.set([20, 21, 22], end);
    const twice = {
      ...request,
      id: 5,
      promptTokenIds: Int32Array.from([...promptTokenIds, ...promptTokenIds]),
      embeddings: [0, promptTokenIds.length].flatMap((before) =>
        first ? [{ ...first, start: before + first.start, attentionEnd: before + end }] : [],
      ),
    };
    const all = [imageLast, request, { ...imageLast, id: 4 }, other, twice];
    const found = run(model, all);
    const cached = found.outputs.map(([output]) => output?.numCachedTokens);
    expect(cached[0]).toBe(0);
    for (const length of cached.slice(1)) expect(length).toBeGreaterThanOrEqual(end - 16);
    expect(bitsOfAll(found)).toEqual(bitsOfAll(run(model, all, { prefixCaching: false })));
  });

  it('has no part of an image that was computed without the rest of it', async () => {
    const model = await prepareModel(SOURCE, { ...OPTIONS, ...NATIVE });
    const [{ request } = { request: engineRequest({ id: 0 }) }] = await requestsOf();
    const { start = 0 } = request.embeddings?.[0] ?? {};
    // One that leaves while its prompt is computed, in chunks that would end within the image.
    const { engine, decoder } = openEngine({
      model,
      maxNumSeqs: MAX_SEQS,
      maxModelLen: 128,
      maxNumBatchedTokens: start + 5,
      threads: 1,
      kvCacheMemory: 2 ** 28,
      prefixCaching: true,
      targetItlMs: null,
    });
    engine.add({ ...request, id: 7 });
    engine.step();
    engine.abort(7);
    expect(engine.stats.stepTokens).toBe(start);
    engine.add(request);
    const outputs: TokenOutput[] = [];
    while (engine.hasWork) outputs.push(...engine.step());
    decoder.release();
    const alone = run(model, [request], { prefixCaching: false });
    expect([bitsOf(outputs)]).toEqual(bitsOfAll(alone));
  });
});

it('is computed again after a preemption', async () => {
  const model = await prepareModel(SOURCE, { ...OPTIONS, ...NATIVE });
  const [given] = await requestsOf();
  const requests = [1, 2, 3, 4].map((id) => {
    // So long that all are in their second pages at once, whenever each began.
    return { ...(given?.request ?? engineRequest()), id, maxTokens: 64 };
  });
  const plenty = run(model, requests, { together: true, prefixCaching: false });
  expect(plenty.numPreemptions).toBe(0);
  const { numLayers, numKvHeads, headDim } = model.manifest;
  const bytesPerToken = 2 * numLayers * numKvHeads * headDim * Float32Array.BYTES_PER_ELEMENT;
  // Pages have 64 tokens; one for each sequence is set aside.
  const kvCacheMemory = (7 + MAX_SEQS) * 64 * bytesPerToken;
  const short = run(model, requests, { together: true, prefixCaching: false, kvCacheMemory });
  expect(short.numPreemptions).toBeGreaterThan(0);
  expect(bitsOfAll(short)).toEqual(bitsOfAll(plenty));
});

it('has the same text with drafts', async () => {
  const model = await prepareModel(SOURCE, { ...OPTIONS, ...NATIVE });
  const [given] = await requestsOf();
  const { promptTokenIds: once, embeddings: [image] = [] } = given?.request ?? engineRequest();
  if (image === undefined) throw new Error('no image');
  // The same image twice, so that the text before it leads to what came after.
  const promptTokenIds = Int32Array.from([...once, ...once, ...once.subarray(0, image.start)]);
  const embeddings = [image.start, once.length + image.start].map((start) => {
    return { ...image, start, attentionEnd: start + TOKENS };
  });
  const request = engineRequest({ id: 1, promptTokenIds, embeddings, maxTokens: 20, logprobs: 3 });
  const speculative = { draftModel: null, maxTokens: 6, minGain: 0 };
  expect(bitsOfAll(run(model, [request], { speculative }))).toEqual(
    bitsOfAll(run(model, [request])),
  );
});

describe('a text alone', () => {
  const text = engineRequest({ id: 1, promptTokenIds: Int32Array.of(9, 8, 7, 30), logprobs: 3 });

  it('is computed by graphs as they are without images', async () => {
    const { takesEmbeddings: _, ...without } = OPTIONS;
    const reads = await prepareModel(SOURCE, { ...without, ...NATIVE });
    const sees = await prepareModel(SOURCE, { ...OPTIONS, ...NATIVE });
    expect(reads.manifest).not.toHaveProperty('takesImageEnds');
    expect(sees.manifest.takesImageEnds).toBe(true);
    expect(bitsOfAll(run(sees, [text]))).toEqual(bitsOfAll(run(reads, [text])));
  });

  it('is so in float32, but for rounding', async () => {
    const { takesEmbeddings: _, ...without } = OPTIONS;
    const reads = await prepareModel(SOURCE, { ...without, precision: 'fp32' });
    const sees = await prepareModel(SOURCE, { ...OPTIONS, precision: 'fp32' });
    const tokens = (model: BuiltModel) =>
      run(model, [text]).outputs.map((each) => each.map(({ tokenId }) => tokenId));
    expect(tokens(sees)).toEqual(tokens(reads));
  });
});

it('has no int8 cache of ONNX Runtime', async () => {
  const building = prepareModel(SOURCE, { ...OPTIONS, precision: 'int8', calibrateKv });
  await expect(building).rejects.toThrow(/gemma3_text take an int8 cache of native kernels alone/);
});
