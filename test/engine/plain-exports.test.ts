/** Exports against PyTorch: see test/exports/plain.py and test/exports/tools.py. */
import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openEngine } from '../../src/engine/process/open-engine.ts';
import type { TokenOutput } from '../../src/engine/request.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const references = z
  .record(
    z.string(),
    z.array(
      z.object({
        prompt: z.array(z.int()),
        logits: z.array(z.number()),
        greedy: z.array(z.int()),
      }),
    ),
  )
  .parse({
    ...JSON.parse(await readFile('test/exports/plain-reference.json', 'utf8')),
    ...JSON.parse(await readFile('test/exports/tools-reference.json', 'utf8')),
  });

const TOOLS = ['genai-cuda', 'optimum-gemma', 'optimum-gemma2', 'optimum-merged'];

const build = (name: string) =>
  prepareModel(
    { kind: 'folder', path: `test/exports/${TOOLS.includes(name) ? 'tools' : 'plain'}/${name}` },
    {
      ...(name.startsWith('genai')
        ? ({ precision: 'fp16', activationDtype: 'float16' } as const)
        : { precision: 'fp32' }),
      cacheDirectory: cache.path,
    },
  );

describe.each<[name: string, digits: number, numLayers?: number]>([
  ['gpt2', 3],
  ['gpt-neox', 3],
  ['llama', 3],
  ['opt', 3],
  // MultiHeadAttention, in float16.
  ['genai-fp16', 1],
  // Norms of heads inside of GroupQueryAttention, in float16.
  ['genai-cuda', 1],
  // Counts positions itself.
  ['optimum-gemma', 3],
  // A window; a window in every second layer, and a cap that only config.json has.
  ['mistral-window', 3, 1],
  ['optimum-gemma2', 3],
  // A choice between two graphs.
  ['optimum-merged', 3],
])('%s', (name, digits, numLayers = 2) => {
  const texts = references[name] ?? [];

  async function run(maxNumBatchedTokens: number): Promise<TokenOutput[][]> {
    const { engine, decoder } = openEngine({
      model: await build(name),
      maxNumSeqs: 4,
      maxModelLen: 128,
      maxNumBatchedTokens,
      threads: 1,
      kvCacheMemory: 2 ** 26,
      prefixCaching: false,
      targetItlMs: null,
    });
    for (const [id, { prompt }] of texts.entries()) {
      const promptTokenIds = Int32Array.from(prompt);
      engine.add({ ...engineRequest({ id, promptTokenIds, maxTokens: 16 }), logprobs: 5 });
    }
    const outputs = texts.map((): TokenOutput[] => []);
    while (engine.hasWork) {
      for (const output of engine.step()) outputs[output.id]?.push(output);
    }
    decoder.release();
    return outputs;
  }

  it.each([512, 7])('gives the tokens of PyTorch, in chunks of %i tokens', async (chunk) => {
    expect(texts).toHaveLength(3);
    const outputs = await run(chunk);
    const tokens = outputs.map((text) => text.map(({ tokenId }) => tokenId));
    expect(tokens).toEqual(texts.map(({ greedy }) => greedy));
    for (const [index, { logits }] of texts.entries()) {
      const total = Math.log(logits.reduce((sum, each) => sum + Math.exp(each), 0));
      const { tokenIds, logprobs } = outputs[index]?.[0]?.logprobs ?? {};
      expect(tokenIds?.length).toBeGreaterThanOrEqual(5);
      for (const [at, id] of tokenIds?.entries() ?? []) {
        expect(logprobs?.[at]).toBeCloseTo((logits[id] ?? NaN) - total, digits);
      }
    }
  });

  it('has no attention mask left', async () => {
    const { manifest } = await build(name);
    expect(manifest).toMatchObject({ numLayers, headDim: 16, maxPositionEmbeddings: 128 });
  });
});

it('refuses attention with ALiBi, by the name of its softmax', async () => {
  await expect(build('bloom')).rejects.toThrow(
    /the attention around Softmax \S*h\.0\S* is not what GroupQueryAttention computes/,
  );
});
