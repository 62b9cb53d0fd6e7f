import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { CpuDecoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import type { SamplingParams } from '../../../src/engine/request.ts';
import { argmax } from '../../../src/engine/sampling/argmax.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { type SegmentLogits, segmentOf } from '../../../src/engine/step.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { engineRequest, GREEDY, READS_LOGITS } from '../../support/engine-requests.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const { prompts } = JSON.parse(readFileSync('models/summit/reference.json', 'utf8')) as {
  readonly prompts: readonly { readonly ids: number[] }[];
};

describe.each(['int8', 'int4'] as const)('our own kernels in %s', (precision) => {
  it('find the likeliest tokens without logits where nothing else is read of them', async () => {
    const nativeKernels = { kvCacheDtype: 'float16' } as const;
    const source = { kind: 'folder', path: 'models/summit' } as const;
    const options = { precision, nativeKernels, cacheDirectory: cache.path };
    const decoder = new CpuDecoder(await prepareModel(source, options), {
      numSlots: prompts.length,
      maxModelLen: 256,
    });
    const texts = (even: Partial<SamplingParams>, odd: Partial<SamplingParams>) =>
      prompts.map(({ ids }, slot) => {
        const sampling = slot % 2 === 0 ? even : odd;
        const promptTokenIds = Int32Array.from(ids);
        const sequence = new Sequence(engineRequest({ id: slot, promptTokenIds, sampling }));
        sequence.slot = slot;
        return sequence;
      });
    /** A prompt's logits, then those of its last token, all texts in one run. */
    const compute = (sequences: readonly Sequence[]): SegmentLogits[] =>
      [
        ...sequences.map((sequence) => [segmentOf(sequence, sequence.numTokens, 0)]),
        sequences.map((sequence) => segmentOf(sequence, 1, sequence.numTokens - 1)),
      ].flatMap((segments) => {
        const { logits, failures } = decoder.execute({ cacheOperations: [], segments });
        expect(failures).toEqual([]);
        return logits.map((each) => ({ ...each, logits: each.logits.map((row) => row.slice()) }));
      });

    const read = compute(texts(READS_LOGITS, READS_LOGITS));
    const wanted = read.map(({ logits }) => logits.map(argmax));
    expect(read.map(({ best }) => best)).toEqual(wanted);
    const greedy = compute(texts(GREEDY, GREEDY));
    expect(greedy.map(({ best }) => best)).toEqual(wanted);
    expect(greedy.every(({ logits }) => logits.every(({ length }) => length === 0))).toBe(true);
    // A row that reads its logits has them, whatever is computed beside it.
    const beside = compute(texts(GREEDY, READS_LOGITS)).slice(prompts.length);
    expect(beside.map(({ best }) => best)).toEqual(wanted.slice(prompts.length));
    const odd = <T>(rows: readonly T[]) => rows.filter((_, row) => row % 2 === 1);
    expect(odd(beside).map(({ logits }) => logits)).toEqual(
      odd(read.slice(prompts.length)).map(({ logits }) => logits),
    );
    decoder.release();
  });
});
