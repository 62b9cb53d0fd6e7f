/** Mixtures of experts: what a token gets does not depend on the others in the batch. */
import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openEngine } from '../../src/engine/process/open-engine.ts';
import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const MAX_LENGTH = 64;
const referencesSchema = z.array(z.object({ ids: z.array(z.int()) })).min(2);

async function promptOf(name: string): Promise<readonly number[]> {
  const text = await readFile(`test/fixtures/families/${name}/reference.json`, 'utf8');
  return referencesSchema.parse(JSON.parse(text))[1]?.ids ?? [];
}

function build(name: string, kernels?: 'native'): Promise<BuiltModel> {
  return prepareModel(
    { kind: 'folder', path: `test/fixtures/families/${name}` },
    {
      precision: kernels ? 'int8' : 'fp32',
      maxModelLen: MAX_LENGTH,
      cacheDirectory: cache.path,
      ...(kernels && { nativeKernels: { kvCacheDtype: 'float32' } }),
    },
  );
}

/** @returns each request's hidden states, or its tokens, by its id */
function run(model: BuiltModel, maxNumBatchedTokens: number, requests: readonly EngineRequest[]) {
  const { engine, decoder } = openEngine({
    model,
    maxNumSeqs: 4,
    maxModelLen: MAX_LENGTH,
    maxNumBatchedTokens,
    threads: 1,
    kvCacheMemory: 2 ** 28,
    prefixCaching: false,
    targetItlMs: null,
  });
  for (const request of requests) engine.add(request);
  const outputs = new Map<number, TokenOutput[]>();
  while (engine.hasWork) {
    for (const output of engine.step()) {
      // Values read out of a step are overwritten by the next one.
      const kept = { ...output, ...(output.values && { values: output.values.slice() }) };
      outputs.set(output.id, [...(outputs.get(output.id) ?? []), kept]);
    }
  }
  decoder.release();
  return outputs;
}

const reading = (id: number, ids: readonly number[]): EngineRequest => ({
  ...engineRequest({ id, promptTokenIds: Int32Array.from(ids), maxTokens: 0 }),
  readout: { kind: 'hidden' },
});
const generating = (id: number, ids: readonly number[]): EngineRequest =>
  engineRequest({ id, promptTokenIds: Int32Array.from(ids), maxTokens: 12 });

describe.each([
  ['mixtral', undefined],
  ['mixtral', 'native'],
  ['qwen2-moe', undefined],
  ['qwen2-moe', 'native'],
  ['granite-moe', undefined],
  ['phimoe-plain', undefined],
  ['phimoe-plain', 'native'],
  ['llama4', undefined],
  ['llama4-interleaved', 'native'],
  ['gpt-oss', undefined],
  ['gpt-oss', 'native'],
] as const)('%s with kernels of %s', (name, kernels) => {
  it('gives a text alone what it gives it in a batch and in chunks, to the bit', async () => {
    const model = await build(name, kernels);
    const ids = await promptOf(name);
    const others = [3, 17, 29];
    const alone = run(model, 512, [reading(1, ids)]);
    const tokens = run(model, 512, [generating(2, ids.slice(0, 20))]);
    const together = run(model, 8, [
      generating(2, ids.slice(0, 20)),
      ...others.map((length) => generating(10 + length, ids.slice(0, length))),
      reading(1, ids),
    ]);
    const [expected] = alone.get(1) ?? [];
    expect(expected?.values).toHaveLength(32);
    expect(together.get(1)?.[0]?.values).toEqual(expected?.values);
    const tokenIds = (outputs: typeof alone) => outputs.get(2)?.map(({ tokenId }) => tokenId);
    expect(tokenIds(tokens)).toHaveLength(12);
    expect(tokenIds(together)).toEqual(tokenIds(tokens));
  });
});
