/** States of Transformers after the last norm, see scripts/references/embeddings.py. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { EngineRequest, Readout, TokenOutput } from '../../src/engine/request.ts';
import { type OpenedEngine, openEngine } from '../../src/engine/process/open-engine.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const references = z
  .record(
    z.string(),
    z.object({ max_model_len: z.int(), ids: z.array(z.int()), hidden: z.array(z.number()) }),
  )
  .parse(JSON.parse(await readFile('test/fixtures/families-hidden.json', 'utf8')));

const HIDDEN = { kind: 'hidden' } as const;

function open(model: BuiltModel, maxModelLen: number, maxNumBatchedTokens = 512): OpenedEngine {
  return openEngine({
    model,
    maxNumSeqs: 4,
    maxModelLen,
    maxNumBatchedTokens,
    threads: 1,
    kvCacheMemory: 2 ** 28,
    prefixCaching: true,
    targetItlMs: null,
  });
}

function reading(id: number, ids: readonly number[], readout: Readout = HIDDEN): EngineRequest {
  const promptTokenIds = Int32Array.from(ids);
  return { ...engineRequest({ id, promptTokenIds, maxTokens: 0 }), readout };
}

/** @returns the outputs of all requests, by id */
function run({ engine }: OpenedEngine, requests: readonly EngineRequest[]) {
  for (const request of requests) engine.add(request);
  const outputs = new Map<number, TokenOutput[]>();
  while (engine.hasWork) {
    for (const output of engine.step()) {
      outputs.set(output.id, [...(outputs.get(output.id) ?? []), output]);
    }
  }
  return outputs;
}

function valuesOf(outputs: ReturnType<typeof run>, id: number): Float32Array {
  const [output, another] = outputs.get(id) ?? [];
  expect(another).toBeUndefined();
  expect(output).toMatchObject({ tokenId: -1, finishReason: 'stop' });
  return output?.values ?? new Float32Array();
}

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length);
  return Math.max(...Array.from(a, (value, at) => Math.abs(value - (b[at] ?? NaN))));
}

async function built(name: string, maxModelLen: number, kernels?: 'native'): Promise<BuiltModel> {
  return builtFrom(`test/fixtures/families/${name}`, maxModelLen, kernels);
}

async function builtFrom(
  path: string,
  maxModelLen: number,
  kernels?: 'native',
): Promise<BuiltModel> {
  return prepareModel(
    { kind: 'folder', path },
    {
      precision: kernels ? 'int8' : 'fp32',
      maxModelLen,
      cacheDirectory: cache.path,
      ...(kernels && { nativeKernels: { kvCacheDtype: 'float32' } }),
    },
  );
}

describe.each(Object.entries(references))('%s', (name, { max_model_len, ids, hidden }) => {
  it('gives what Transformers gives', async () => {
    const opened = open(await built(name, max_model_len), max_model_len);
    expect(opened.info.hiddenSize).toBe(hidden.length);
    const values = valuesOf(run(opened, [reading(1, ids)]), 1);
    opened.decoder.release();
    expect(largestDifference(values, hidden)).toBeLessThan(2e-4);
  });
});

describe('a text', () => {
  const { qwen3, granite } = references;
  if (!qwen3 || !granite) throw new Error('the references lack them');

  it('has the same hidden state alone, in a batch, in chunks and after its beginning was cached', async () => {
    const model = await built('qwen3', 64);
    const whole = open(model, 64);
    const chunked = open(model, 64, 8);
    const others = [5, 9, 1].map((length, at) => reading(10 + at, qwen3.ids.slice(0, length)));
    const generating = engineRequest({
      id: 20,
      promptTokenIds: Int32Array.from(qwen3.ids.slice(7, 20)),
      maxTokens: 12,
    });
    const alone = valuesOf(run(whole, [reading(1, qwen3.ids)]), 1);
    const cached = run(whole, [reading(2, qwen3.ids)]);
    expect(cached.get(2)?.[0]?.numCachedTokens).toBeGreaterThanOrEqual(32);
    const together = run(chunked, [...others, generating, reading(3, qwen3.ids)]);
    expect(together.get(20)).toHaveLength(12);
    for (const values of [valuesOf(cached, 2), valuesOf(together, 3)]) {
      expect(largestDifference(values, alone)).toBeLessThan(1e-5);
    }
    for (const opened of [whole, chunked]) opened.decoder.release();
  });

  it('has it from native kernels too, before the scale of the logits', async () => {
    const opened = open(await built('granite', 64, 'native'), 64);
    const values = valuesOf(run(opened, [reading(1, granite.ids)]), 1);
    opened.decoder.release();
    const dot = values.reduce((sum, value, at) => sum + value * (granite.hidden[at] ?? 0), 0);
    const lengths = [values, granite.hidden].map((each) => Math.hypot(...each));
    const [own = 0, expected = 1] = lengths;
    expect(dot / (own * expected)).toBeGreaterThan(0.99);
    expect(own / expected).toBeCloseTo(1, 1);
  });

  it('has it from a checkpoint without an LM head, as those of embedding models are', async () => {
    const folder = await temporaryDirectory();
    const original = 'test/fixtures/families/qwen3';
    const config: object = JSON.parse(await readFile(`${original}/config.json`, 'utf8'));
    const headless = { ...config, architectures: ['Qwen3Model'], tie_word_embeddings: false };
    await writeFile(join(folder, 'config.json'), JSON.stringify(headless));
    const file = await readFile(`${original}/model.safetensors`);
    const end = 8 + Number(file.readBigUInt64LE());
    const header = file.subarray(8, end).toString();
    // As long as before: what is taken from names is added as space.
    const renamed = header.replaceAll('"model.', '"').replaceAll('"lm_head.', '"unused.');
    expect(renamed.length).toBeLessThan(header.length);
    file.write(renamed.padEnd(header.length), 8);
    await writeFile(join(folder, 'model.safetensors'), file);
    const opened = open(await builtFrom(folder, 64), 64);
    const values = valuesOf(run(opened, [reading(1, qwen3.ids)]), 1);
    opened.decoder.release();
    expect(largestDifference(values, qwen3.hidden)).toBeLessThan(2e-4);
  });

  it('has the logits of some tokens, which are those that a generation draws from', async () => {
    const opened = open(await built('qwen3', 64), 64);
    const promptTokenIds = Int32Array.from(qwen3.ids);
    const generated = run(opened, [
      { ...engineRequest({ id: 1, promptTokenIds, maxTokens: 1 }), logprobs: 3 },
    ]);
    const told = generated.get(1)?.[0]?.logprobs;
    const tokenIds = told?.tokenIds.slice(1) ?? new Int32Array();
    const logprobs = told?.logprobs.slice(1) ?? new Float32Array();
    expect(tokenIds).toHaveLength(3);
    const logits = valuesOf(run(opened, [reading(2, qwen3.ids, { kind: 'logits', tokenIds })]), 2);
    opened.decoder.release();
    const differences = (values: Float32Array) => values.map((value) => value - (values[0] ?? NaN));
    expect(largestDifference(differences(logits), differences(logprobs))).toBeLessThan(1e-4);
    expect(differences(logits)[2]).not.toBe(0);
  });

  it('may be as long as the context', async () => {
    const opened = open(await built('qwen3', 64), 40);
    expect(qwen3.ids).toHaveLength(40);
    expect(valuesOf(run(opened, [reading(1, qwen3.ids)]), 1)).toHaveLength(32);
    expect(() => opened.engine.add(reading(2, [...qwen3.ids, 5]))).toThrow('do not fit');
    opened.decoder.release();
  });
});
