/**
 * Prompts with embeddings in place of tokens. Where the embeddings are those of the tokens, texts and
 * logits must be those of the prompt of tokens, to the bit: that is the reference.
 */
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { EngineRequest, TokenOutput } from '../../../src/engine/request.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import { openEngine } from '../../../src/engine/process/open-engine.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { BuildOptions } from '../../../src/model/build/build-options.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';
import { parseModel } from '../../../src/onnx/parsed-model.ts';
import {
  type Arrival,
  bitsOf,
  buildSummit,
  COMPUTED,
  MAX_SEQS,
  openCrashing,
  runCrashing,
} from '../../support/crashing-engine.ts';
import {
  embeddedPrompt,
  type Stretch,
  tokenRows,
  type TokenRows,
} from '../../support/embedded-prompts.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { FAMILY_FIXTURES } from '../../support/families.ts';
import { everyOrLong, orLong } from '../../support/long-runs.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const takesEmbeddings = { cacheDirectory: cache.path, takesEmbeddings: true };

const reference = JSON.parse(readFileSync('models/summit/reference.json', 'utf8')) as {
  readonly prompts: readonly { readonly ids: number[] }[];
};
const TEXT = reference.prompts.flatMap(({ ids }) => ids);

/** Stretches of a prompt, apart from each other; the last may reach its end. */
function stretchesOf(length: number, cuts: readonly number[]): Stretch[] {
  const ends = [...new Set(cuts.map((cut) => cut % (length + 1)))].sort((a, b) => a - b);
  return ends.flatMap((start, at) => {
    const end = ends[at + 1];
    return at % 2 === 0 && end !== undefined ? [{ start, length: end - start }] : [];
  });
}

/** A prompt of tokens, and where it has embeddings. */
interface Embedded {
  readonly atStep: number;
  readonly request: EngineRequest;
  readonly stretches: readonly Stretch[];
}

const arrivals = fc
  .array(
    fc.record({
      atStep: fc.nat(12),
      start: fc.nat(TEXT.length - 70),
      length: fc.integer({ min: 1, max: 70 }),
      maxTokens: fc.integer({ min: 1, max: 8 }),
      cuts: fc.array(fc.nat(1000), { maxLength: 6 }),
    }),
    { minLength: 1, maxLength: MAX_SEQS },
  )
  .map((all) =>
    all.map(({ atStep, start, length, maxTokens, cuts }, index): Embedded => {
      const promptTokenIds = Int32Array.from(TEXT.slice(start, start + length));
      // Taken from another's answer, a prompt's beginning would have been computed token by token.
      const options = { maxTokens, logprobs: 3, cacheSalt: `arrival ${index}` };
      const request = engineRequest({ id: 1 + index, promptTokenIds, ...options });
      return { atStep, request, stretches: stretchesOf(length, cuts) };
    }),
  );

const withEmbeddings = ({ request, stretches }: Embedded, rows: TokenRows): EngineRequest => ({
  ...request,
  ...embeddedPrompt(request.promptTokenIds, stretches, rows),
});

// Every fifth is another than in the sample of reproducible.test.ts.
const ALL_COMPUTED = [
  ['fp16', 'float32', 'onnxruntime'] as const,
  ...COMPUTED,
  ['int8-blocks', 'float32', 'native'] as const,
  ['int4-mixed', 'float32', 'native'] as const,
];

describe.each(everyOrLong(5, ALL_COMPUTED))(
  '%s with a KV cache of %s and kernels of %s',
  (...computed) => {
    it(
      'gives the bits of tokens, in any batch, any chunks, after a crash',
      needs(LINUX),
      async () => {
        const model = await buildSummit(takesEmbeddings, computed);
        const rows = await tokenRows(model);
        const crashes = fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 2 });
        const budget = fc.integer({ min: MAX_SEQS, max: 100 });
        // Engine over a graph that takes none.
        const text = openCrashing(await buildSummit({ cacheDirectory: cache.path }, computed), 128);
        let salt = 0;
        fc.assert(
          fc.property(arrivals, crashes, budget, (all, lost, maxNumBatchedTokens) => {
            const embedded = all.map((each): Arrival => {
              return { atStep: each.atStep, request: withEmbeddings(each, rows) };
            });
            const outputs = runCrashing(model, maxNumBatchedTokens, embedded, lost);
            for (const { request } of all) {
              text.engine.add({ ...request, cacheSalt: `${salt++}` });
              const alone: TokenOutput[] = [];
              while (text.engine.hasWork) alone.push(...text.engine.step());
              expect(bitsOf(outputs.get(request.id))).toEqual(bitsOf(alone));
            }
          }),
          { numRuns: orLong(2, 8), endOnFailure: true },
        );
        text.decoder.release();
      },
    );
  },
);

/** Runs requests to their end, one after the other or all at once. */
function run(
  model: BuiltModel,
  requests: readonly EngineRequest[],
  options: Partial<EngineOptions> = {},
  isAtOnce = true,
) {
  const { engine, decoder, speculator } = openEngine({
    model,
    maxNumSeqs: 4,
    maxModelLen: 512,
    maxNumBatchedTokens: 64,
    threads: 1,
    kvCacheMemory: 2 ** 30,
    prefixCaching: true,
    targetItlMs: null,
    ...options,
  });
  const outputs = requests.map((): TokenOutput[] => []);
  const drain = () => {
    while (engine.hasWork) for (const output of engine.step()) outputs[output.id]?.push(output);
  };
  for (const request of requests) {
    engine.add(request);
    if (!isAtOnce) drain();
  }
  drain();
  speculator?.release();
  decoder.release();
  return { outputs, stats: engine.stats };
}

/** A prompt of 40 tokens of text, 24 of an image, and more text. */
const STRETCH: Stretch = { start: 40, length: 24 };

/** With kernels that give a token the same bits however it is computed. */
async function summit(): Promise<{ model: BuiltModel; rows: TokenRows }> {
  const model = await buildSummit(takesEmbeddings, ['int8', 'float32', 'native']);
  return { model, rows: await tokenRows(model) };
}

/** @param image its content @param question tokens after the image */
function imagePrompt(
  rows: TokenRows,
  image: number,
  id = 0,
  question = TEXT.slice(64, 90),
): EngineRequest {
  const promptTokenIds = Int32Array.from([...TEXT.slice(0, 64), ...question]);
  const { start, length: size } = STRETCH;
  promptTokenIds.set(TEXT.slice(100 + image * size, 100 + (image + 1) * size), start);
  const prompt = embeddedPrompt(promptTokenIds, [STRETCH], rows);
  return engineRequest({ id, ...prompt, maxTokens: 12, logprobs: 3 });
}

describe('the prefix cache', () => {
  it('finds an image again, and none in place of another', async () => {
    const { model, rows } = await summit();
    const requests = [
      imagePrompt(rows, 0, 0),
      imagePrompt(rows, 1, 1),
      imagePrompt(rows, 0, 2, TEXT.slice(1, 20)),
      imagePrompt(rows, 0, 3),
    ];
    const { outputs } = run(model, requests, {}, false);
    const cached = outputs.map(([first]) => first?.numCachedTokens);
    // Whole blocks of the text before the image, of text and image, and of all.
    expect(cached).toEqual([0, 32, 64, 80]);
    const without = run(model, requests, { prefixCaching: false }, false);
    expect(outputs.map((each) => bitsOf(each))).toEqual(
      without.outputs.map((each) => bitsOf(each)),
    );
    expect(bitsOf(outputs[1])).not.toEqual(bitsOf(outputs[0]));
    expect(bitsOf(outputs[3])).toEqual(bitsOf(outputs[0]));
  });

  it('takes fewer than four equal ids at the end for chance', async () => {
    const { model, rows } = await summit();
    const first = imagePrompt(rows, 0);
    const second = imagePrompt(rows, 1, 1);
    const { start } = STRETCH;
    for (const [numEqual, length] of [
      [3, 40],
      [4, 44],
    ] as const) {
      const promptTokenIds = second.promptTokenIds.slice();
      promptTokenIds.set(first.promptTokenIds.subarray(start, start + numEqual), start);
      const { engine, decoder } = openCrashing(model, 128);
      engine.add({ ...first, maxTokens: 1 });
      while (engine.hasWork) engine.step();
      engine.add({ ...second, promptTokenIds });
      engine.watch(1);
      engine.step();
      const [, , , from] = engine.takeRecord()?.cells ?? [];
      expect(from).toBe(length);
      decoder.release();
    }
  });
});

it('is prefilled in the run in which others decode', async () => {
  const { model, rows } = await summit();
  const decoding = [1, 2, 3].map((id) => engineRequest({ id, maxTokens: 40, logprobs: 3 }));
  const request = imagePrompt(rows, 0, 4);
  const outputs = runCrashing(
    model,
    24,
    [...decoding.map((each) => ({ atStep: 0, request: each })), { atStep: 4, request }],
    [],
  );
  const alone = runCrashing(model, 128, [{ atStep: 0, request }], []);
  expect(bitsOf(outputs.get(4))).toEqual(bitsOf(alone.get(4)));
});

it('is computed again after a preemption', async () => {
  const { model, rows } = await summit();
  const requests = [0, 1, 2, 3].map((image) => ({
    ...imagePrompt(rows, image, image),
    maxTokens: 60,
  }));
  const plenty = run(model, requests);
  expect(plenty.stats.numPreemptions).toBe(0);
  const short = run(model, requests, { kvCacheMemory: memoryOf(model, 36), prefixCaching: false });
  expect(short.stats.numPreemptions).toBeGreaterThan(0);
  expect(short.outputs.map((each) => bitsOf(each))).toEqual(
    plenty.outputs.map((each) => bitsOf(each)),
  );
});

/** Bytes of so many pages of 16 tokens in float32. */
function memoryOf({ manifest }: BuiltModel, numPages: number): number {
  const { numLayers, numKvHeads, headDim } = manifest;
  return numPages * 16 * 2 * numLayers * numKvHeads * headDim * Float32Array.BYTES_PER_ELEMENT;
}

it.each(['ngram', 'draft'] as const)('changes no text with drafts of %s', async (source) => {
  const { model, rows } = await summit();
  // The same image twice, so that the text before it leads to it.
  const twice = Int32Array.from([...TEXT.slice(0, 30), ...TEXT.slice(0, 30), ...TEXT.slice(0, 8)]);
  const stretches = [
    { start: 8, length: 12 },
    { start: 38, length: 12 },
  ];
  const tokens = [0, 1].map((id) =>
    engineRequest({ id, promptTokenIds: twice, maxTokens: 40, logprobs: 3 }),
  );
  const requests = tokens.map((each) => ({ ...each, ...embeddedPrompt(twice, stretches, rows) }));
  const draftModel =
    source === 'draft'
      ? await prepareModel(
          { kind: 'folder', path: 'models/foothill' },
          { ...takesEmbeddings, precision: 'fp32' },
        )
      : null;
  const options = { speculative: { draftModel, maxTokens: 6, minGain: 0 }, maxNumSeqs: 1 };
  const drafted = run(model, requests, options);
  expect(drafted.stats.numDrafts).toBeGreaterThan(0);
  expect(drafted.outputs.map((each) => bitsOf(each))).toEqual(
    run(model, tokens).outputs.map((each) => bitsOf(each)),
  );
});

const FAMILIES = ['gemma', 'gemma2', 'granite', 'gemma3', 'gpt2', 'opt', 'llama'];

describe.each(everyOrLong(3, FAMILIES))('%s', (family) => {
  it('has embeddings where its scale is behind and positions are ahead', async () => {
    const source = { kind: 'folder', path: `${FAMILY_FIXTURES}/${family}` } as const;
    const options: BuildOptions = { ...takesEmbeddings, precision: 'fp32', maxModelLen: 64 };
    const model = await prepareModel(source, options);
    const rows = await tokenRows(model);
    const promptTokenIds = Int32Array.from({ length: 24 }, (_, at) => 1 + ((at * 7) % 50));
    const tokens = engineRequest({ id: 0, promptTokenIds, maxTokens: 6, logprobs: 3 });
    const embedded = embeddedPrompt(promptTokenIds, [{ start: 5, length: 12 }], rows);
    const half = embedded.embeddings?.map(({ start, rows: own }) => ({
      start,
      rows: own.map((value) => value / 2),
    }));
    const limits = { maxModelLen: 64, maxNumBatchedTokens: 10, prefixCaching: false };
    const bits = (request: EngineRequest) => bitsOf(run(model, [request], limits).outputs[0]);
    expect(bits({ ...tokens, ...embedded })).toEqual(bits(tokens));
    expect(bits({ ...tokens, ...embedded, ...(half && { embeddings: half }) })).not.toEqual(
      bits(tokens),
    );
  });
});

describe('a graph', () => {
  it('is that of a text model where embeddings are not asked for', async () => {
    const source = { kind: 'folder', path: `${FAMILY_FIXTURES}/llama` } as const;
    const options: BuildOptions = { cacheDirectory: cache.path, precision: 'fp32' };
    const text = await prepareModel(source, options);
    const refused = await prepareModel(source, { ...options, takesEmbeddings: false });
    expect(refused).toEqual(text);
    expect(text.manifest).not.toHaveProperty('takesEmbeddings');
    const { graph } = parseModel(readFileSync(text.graphPath));
    const names = graph.input.map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('embedding'))).toEqual([]);
    const seeing = await prepareModel(source, { ...options, takesEmbeddings: true });
    expect(seeing.manifest.takesEmbeddings).toBe(true);
    expect(seeing.graphPath).not.toBe(text.graphPath);
  });

  it('takes them in float32 alone', async () => {
    const half = prepareModel(
      { kind: 'folder', path: `${FAMILY_FIXTURES}/llama` },
      { ...takesEmbeddings, precision: 'fp16', activationDtype: 'float16' },
    );
    await expect(half).rejects.toThrow(/embeddings compute in float32/);
  });
});
