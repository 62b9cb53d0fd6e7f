import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import { CPU_DEVICE } from '../../src/engine/gpu/device-options.ts';
import { calibrateKv } from '../../src/engine/cpu/kv-calibration.ts';
import type { EngineOptions } from '../../src/engine/process/protocol.ts';
import { openEngine } from '../../src/engine/process/open-engine.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { segmentOf } from '../../src/engine/step.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { Precision } from '../../src/model/manifest.ts';
import { DecoderPair } from '../support/decoder-pair.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

interface Reference {
  readonly prompt: number[];
  readonly logits: number[];
  readonly greedy: number[];
}

/** Prompts are padded to one run, whatever that costs. */
const JOINED = {
  slots: { ownerOf: () => null, grow: () => true, drainOperations: () => [] },
  costs: { prefillMs: () => 1 },
};

const cache = await temporaryCache();
afterAll(() => cache.remove());

const references = JSON.parse(readFileSync('test/exports/reference.json', 'utf8')) as Record<
  string,
  Reference[]
>;

describe.each([
  ['genai/model.onnx', 'genai', 'fp32'],
  ['hub/onnx/model.onnx', 'hub', 'fp32'],
  ['hub/onnx/model_q4.onnx', 'hub', 'int4'],
] as const)('%s, against ONNX Runtime with the export as it came', (file, folder, precision) => {
  const prompts = references[file] ?? [];
  const source = { kind: 'folder', path: `test/exports/${folder}` } as const;
  const options: { precision: Precision; cacheDirectory: string } = {
    precision,
    cacheDirectory: cache.path,
  };

  /** Greedy continuations of all prompts, together. */
  async function continuations(how: Partial<EngineOptions> = {}): Promise<number[][]> {
    const { engine, decoder } = openEngine({
      model: await prepareModel(source, options),
      maxNumSeqs: 4,
      maxModelLen: 128,
      maxNumBatchedTokens: 128,
      threads: 1,
      kvCacheMemory: 2 ** 26,
      prefixCaching: false,
      targetItlMs: null,
      ...how,
    });
    const texts = prompts.map((): number[] => []);
    for (const [id, { prompt }] of prompts.entries()) {
      const promptTokenIds = Int32Array.from(prompt);
      engine.add(engineRequest({ id, promptTokenIds, maxTokens: 16 }));
    }
    while (engine.hasWork) {
      for (const { id, tokenId, error } of engine.step()) {
        expect(error).toBeUndefined();
        texts[id]?.push(tokenId);
      }
    }
    decoder.release();
    return texts;
  }

  it('has the same logits after prompts of several lengths, padded to one run', async () => {
    const model = await prepareModel(source, options);
    expect(model.manifest).toMatchObject({ precision, numLayers: 2, headDim: 16 });
    const decoder = new CpuDecoder(model, {
      numSlots: prompts.length,
      maxModelLen: 128,
      ...JOINED,
    });
    const segments = prompts.map(({ prompt }, slot) => {
      const promptTokenIds = Int32Array.from(prompt);
      const sequence = new Sequence(engineRequest({ id: slot, promptTokenIds }));
      sequence.slot = slot;
      return segmentOf(sequence, prompt.length);
    });
    const result = decoder.execute({ cacheOperations: [], segments });
    expect(result.logits).toHaveLength(3);
    expect(result.timedRuns).toHaveLength(1);
    for (const { segment, logits } of result.logits) {
      const expected = prompts[segment.sequence.slot]?.logits ?? [];
      const worst = Math.max(
        ...expected.map((value, id) => Math.abs(value - (logits[0]?.[id] ?? NaN))),
      );
      expect(worst).toBeLessThan(1e-3);
    }
    decoder.release();
  });

  const greedy = prompts.map((prompt) => prompt.greedy);

  it('continues them with the same tokens', async () => {
    expect(await continuations()).toEqual(greedy);
  });

  // Most chunks of a few tokens run beside decoding rows.
  it.each([
    ['in chunks', { maxNumBatchedTokens: 7 }],
    ['with drafts', { speculative: { draftModel: null, maxTokens: 4 } }],
    ['with a cache that is reused', { prefixCaching: true, maxNumSeqs: 1 }],
    ...(process.platform === 'linux'
      ? [['with a durable cache', { durableKv: true, maxNumBatchedTokens: 9 }] as const]
      : []),
  ] as const)('%s too', async (_, how) => {
    expect(await continuations(how)).toEqual(greedy);
  });

  it('leaves weights in files of their own where they are', async () => {
    const { graphPath, weightsFolder } = await prepareModel(source, options);
    const isInside = file.endsWith('model_q4.onnx');
    expect(weightsFolder === dirname(graphPath)).toBe(isInside);
    expect(readFileSync(graphPath).byteLength).toBeLessThan(64 * 1024);
  });
});

it('computes an export with an int8 KV cache', async () => {
  const source = { kind: 'folder', path: 'test/exports/hub' } as const;
  const model = await prepareModel(source, {
    precision: 'fp32',
    cacheDirectory: cache.path,
    calibrateKv,
  });
  expect(model.manifest.kvCacheDtype).toBe('int8');
  const decoder = new CpuDecoder(model, { numSlots: 1, maxModelLen: 128 });
  const [{ prompt, logits: expected } = { prompt: [], logits: [] }] =
    references['hub/onnx/model.onnx'] ?? [];
  const sequence = new Sequence(engineRequest({ promptTokenIds: Int32Array.from(prompt) }));
  sequence.slot = 0;
  const segments = [segmentOf(sequence, prompt.length)];
  const [result] = decoder.execute({ cacheOperations: [], segments }).logits;
  const errors = expected.map((value, id) => Math.abs(value - (result?.logits[0]?.[id] ?? NaN)));
  expect(Math.max(...errors)).toBeLessThan(0.3);
  decoder.release();
});

it('computes an export on a device, here the CPU itself, as on the CPU', async () => {
  const source = { kind: 'folder', path: 'test/exports/hub' } as const;
  const model = await prepareModel(source, { precision: 'fp32', cacheDirectory: cache.path });
  const options = { device: CPU_DEVICE, numSlots: 4, maxModelLen: 64, maxDraftTokens: 3 };
  const pair = new DecoderPair(model, options);
  const [first, second] = [pair.sequence(0, [1, 9, 80, 41]), pair.sequence(1, [7, 30, 12, 99, 5])];
  pair.prefill(first);
  pair.prefill(second, 3);
  pair.prefill(second);
  pair.decode([first, second]);
  pair.verify(second, [17, 280, 3], 2);
  pair.decode([first, second]);
  expect(pair.numRows).toBeGreaterThanOrEqual(10);
  expect(pair.worst).toBeLessThan(1e-5);
  pair.release();
});
