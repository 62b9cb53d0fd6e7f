import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { CpuDecoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import { calibrateKv } from '../../../src/engine/cpu/kv-calibration.ts';
import { sameHeads } from '../../../src/engine/kv-shape.ts';
import { openEngine } from '../../../src/engine/process/open-engine.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import type { CacheOperation } from '../../../src/engine/cache-operation.ts';
import { type Segment, segmentOf } from '../../../src/engine/step.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';
import { builtModels } from '../../support/built-models.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { residentCacheBytes } from '../../support/resident-cache.ts';
import { orLong } from '../../support/long-runs.ts';
import { LINUX, needs } from '../../support/needs.ts';

interface Reference {
  readonly prompts: readonly { readonly ids: number[]; readonly greedy: number[] }[];
}

const models = await builtModels();
afterAll(() => models.remove());

const file = readFileSync('models/summit/reference.json', 'utf8');
const { prompts } = JSON.parse(file) as Reference;

/** A text in a slot: a prompt and the beginning of its answer, of lengths all different. */
function textIn(slot: number, index = slot): Sequence {
  const { ids, greedy } = prompts[index] ?? { ids: [], greedy: [] };
  const promptTokenIds = Int32Array.from([...ids, ...greedy.slice(0, 1 + 3 * index)]);
  const sequence = new Sequence(engineRequest({ id: index, promptTokenIds }));
  sequence.slot = slot;
  return sequence;
}

function decoderOf(model: BuiltModel, numSlots: number) {
  const decoder = new CpuDecoder(model, { numSlots, maxModelLen: 256 });
  const run = (...segments: Segment[]) =>
    decoder
      .execute({ cacheOperations: [], segments })
      .logits.map(({ logits }) => logits[0]?.slice());
  return {
    decoder,
    prefill: (sequence: Sequence, start = 0, end = sequence.numTokens) =>
      run(segmentOf(sequence, end - start, start))[0],
    /** The last token of each, once more. */
    decode: (sequences: readonly Sequence[]) =>
      run(...sequences.map((sequence) => segmentOf(sequence, 1, sequence.numTokens - 1))),
    rearrange: (...cacheOperations: CacheOperation[]) =>
      void decoder.execute({ cacheOperations, segments: [] }),
  };
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  return a.reduce((max, value, index) => Math.max(max, Math.abs(value - (b[index] ?? NaN))), 0);
}

describe('an int8 KV cache', () => {
  it('gives nearly the logits of one in float32', async () => {
    const [exact, int8] = await Promise.all([models.get('summit'), models.get('summit', 'int8')]);
    const [expected, actual] = [decoderOf(exact, 12), decoderOf(int8, 12)];
    const differences = prompts.map((_, row) => {
      const sequence = textIn(row);
      const logits = actual.prefill(sequence) ?? new Float32Array();
      return largestDifference(logits, expected.prefill(sequence) ?? new Float32Array());
    });
    expected.decoder.release();
    actual.decoder.release();
    expect(Math.max(...differences)).toBeLessThan(0.4);
    expect(Math.min(...differences)).toBeGreaterThan(0);
  });

  it('continues most prompts with the same 48 tokens', async () => {
    const { engine, decoder } = openEngine({
      model: await models.get('summit', 'int8'),
      maxNumSeqs: 12,
      maxModelLen: 256,
      maxNumBatchedTokens: 256,
      threads: 1,
      kvCacheMemory: 2 ** 30,
      prefixCaching: false,
      targetItlMs: null,
    });
    for (const [id, { ids }] of prompts.entries()) {
      engine.add(engineRequest({ id, promptTokenIds: Int32Array.from(ids), maxTokens: 48 }));
    }
    const texts = prompts.map((): number[] => []);
    while (engine.hasWork) {
      for (const { id, tokenId } of engine.step()) texts[id]?.push(tokenId);
    }
    decoder.release();
    const same = prompts.filter(({ greedy }, id) => texts[id]?.join() === greedy.join());
    expect(same.length).toBeGreaterThanOrEqual(10);
  });

  it('gives a row the same logits alone and among others, of other lengths', async () => {
    const model = await models.get('summit', 'int8');
    const together = decoderOf(model, 12);
    const sequences = prompts.map((_, row) => textIn(row));
    for (const sequence of sequences) together.prefill(sequence);
    const batch = together.decode(sequences);
    together.decoder.release();
    const alone = decoderOf(model, 1);
    for (const [index, logits] of batch.entries()) {
      const sequence = textIn(0, index);
      alone.prefill(sequence);
      expect(alone.decode([sequence])).toEqual([logits]);
    }
    alone.decoder.release();
    expect(batch).toHaveLength(12);
  });

  it('can be copied and given back in part', async () => {
    const { decoder, prefill, decode, rearrange } = decoderOf(
      await models.get('summit', 'int8'),
      2,
    );
    const sequence = textIn(0, 11);
    const { pageLength } = decoder.storage.shape;
    expect(sequence.numTokens).toBeGreaterThan(pageLength);
    const logits = prefill(sequence);
    rearrange(
      { type: 'copy', from: 0, to: 1, length: sequence.numTokens },
      { type: 'discard', slot: 0, start: 0, end: 256 },
    );
    const copy = textIn(1, 11);
    expect(prefill(copy, copy.numTokens - 1)).toEqual(logits);
    // Slot 0 holds nothing now; slot 1 keeps its first block.
    rearrange({ type: 'discard', slot: 1, start: pageLength, end: 256 });
    expect(prefill(copy, pageLength)).toEqual(logits);
    expect(decode([textIn(0, 0), copy])[1]).toEqual(logits);
    decoder.release();
  });

  it('stays within its budget', needs(LINUX), async () => {
    const kvCacheMemory = 1.5 * 2 ** 20;
    const before = residentCacheBytes();
    const { engine, decoder, info } = openEngine({
      model: await models.get('summit', 'int8'),
      maxNumSeqs: 4,
      maxModelLen: 200,
      maxNumBatchedTokens: 64,
      threads: 1,
      kvCacheMemory,
      prefixCaching: true,
      targetItlMs: null,
    });
    for (let id = 0; id < 40; id++) {
      const promptTokenIds = Int32Array.from({ length: 17 + id }, (_, i) => 10 + id + i);
      engine.add(engineRequest({ id, promptTokenIds, maxTokens: 5 + id }));
    }
    let peak = 0;
    for (let step = 0; engine.hasWork; step++) {
      engine.step();
      // Asking the system takes longer than a step.
      if (step % orLong(16, 1) === 0) peak = Math.max(peak, residentCacheBytes() - before);
    }
    decoder.release();
    const logitsBytes = 8 * 4096 * 4;
    expect(peak).toBeGreaterThan(info.kvCacheBytes);
    expect(peak).toBeLessThanOrEqual(kvCacheMemory + logitsBytes);
  });
});

describe('calibration', () => {
  let made: ReturnType<typeof calibrateKv> | undefined;
  const summitScales = async () => (made ??= calibrateKv(await models.get('summit')));

  it('leaves room for what texts bring', async () => {
    const model = await models.get('summit');
    const scales = await summitScales();
    const { decoder, prefill } = decoderOf(model, 1);
    let [numValues, numCut] = [0, 0];
    for (const [index] of prompts.entries()) {
      const sequence = textIn(0, index);
      prefill(sequence);
      const { capacity } = decoder.storage.shape;
      const { numKvHeads, headDim } = sameHeads(decoder.storage.shape);
      for (const [at, tensor] of decoder.storage.view(0, 1).entries()) {
        const layer = scales[at >> 1];
        const { data } = tensor;
        const steps = at % 2 === 0 ? layer?.key : layer?.value;
        for (let head = 0; head < numKvHeads; head++) {
          const from = head * capacity * headDim;
          for (let place = 0; place < sequence.numTokens * headDim; place++) {
            const step = steps?.[head * headDim + (place % headDim)] ?? NaN;
            numValues++;
            if (!(Math.abs(Number(data[from + place])) <= 127.5 * step)) numCut++;
          }
        }
        tensor.release();
      }
    }
    decoder.release();
    expect(numValues).toBeGreaterThan(1e6);
    expect(numCut / numValues).toBeLessThan(1e-4);
  });

  it('gives both channels of a rotary pair the same scale', async () => {
    for (const { key, value } of await summitScales()) {
      expect(key).toHaveLength(2 * 64);
      expect(value).toHaveLength(2 * 64);
      for (const head of [key.subarray(0, 64), key.subarray(64)]) {
        expect(head.subarray(0, 32)).toEqual(head.subarray(32));
        expect(Math.min(...head)).toBeGreaterThan(0);
      }
    }
  });
});
