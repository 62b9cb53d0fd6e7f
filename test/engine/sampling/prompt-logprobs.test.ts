import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { Logprobs, TokenOutput } from '../../../src/engine/request.ts';
import { openEngine } from '../../../src/engine/process/open-engine.ts';
import { builtModels } from '../../support/built-models.ts';
import { CheckedEngine } from '../../support/checked-engine.ts';
import { DecoderRun } from '../../support/decoder-run.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { FAKE_VOCAB_SIZE, fakeNextToken } from '../../support/fake-decoder.ts';

const models = await builtModels();
afterAll(() => models.remove());

/** Logprob by the fake model: a logit of 1 for the token it says next, 0 for all others. */
function fakeLogprob(tokenIds: readonly number[], next: number): number {
  const logit = fakeNextToken(tokenIds) === next ? 1 : 0;
  return logit - Math.log(FAKE_VOCAB_SIZE - 1 + Math.E);
}

/** The entries of the tokens that are there, without the likeliest. */
function own({ tokenIds, logprobs, ranks }: Logprobs): { tokenId: number; logprob: number }[] {
  const width = tokenIds.length / ranks.length;
  return Array.from(ranks, (_, position) => ({
    tokenId: tokenIds[position * width] ?? -1,
    logprob: logprobs[position * width] ?? NaN,
  }));
}

describe('prompt log-probabilities', () => {
  const prompts = fc.array(
    fc.record({
      // Few different tokens, so that prompts begin alike, and longer than a block of the prefix cache.
      prompt: fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 40 }),
      promptLogprobs: fc.constantFrom(null, 0, 3),
      maxTokens: fc.integer({ min: 1, max: 12 }),
      startsAt: fc.nat({ max: 20 }),
    }),
    { minLength: 1, maxLength: 8 },
  );

  it('are those of every token, beside other sequences, cached prefixes and preemptions', () => {
    fc.assert(
      fc.property(prompts, fc.boolean(), (requests, isTight) => {
        const checked = CheckedEngine.withSlots({
          maxNumSeqs: 3,
          capacity: 64,
          maxNumBatchedTokens: 24,
          spareSlots: 2,
          prefixCaching: true,
          ...(isTight ? { maxPages: 5 } : {}),
        });
        let pending = [...requests.entries()];
        for (let step = 0; checked.engine.hasWork || pending.length > 0; step++) {
          for (const [id, { prompt, startsAt, ...fields }] of pending) {
            if (startsAt !== step) continue;
            const promptTokenIds = Int32Array.from(prompt);
            checked.engine.add(engineRequest({ ...fields, id, promptTokenIds }));
          }
          pending = pending.filter(([, { startsAt }]) => startsAt > step);
          checked.step();
        }
        for (const [id, { prompt, promptLogprobs, maxTokens }] of requests.entries()) {
          const outputs: TokenOutput[] = checked.outputs.get(id) ?? [];
          expect(outputs).toHaveLength(maxTokens);
          const [first, ...later] = outputs;
          expect(later.some((output) => 'promptLogprobs' in output)).toBe(false);
          expect(first && 'promptLogprobs' in first).toBe(promptLogprobs !== null);
          const entries = first?.promptLogprobs ? own(first.promptLogprobs) : [];
          const scored = promptLogprobs === null ? [] : prompt.slice(1);
          expect(entries.map(({ tokenId }) => tokenId)).toEqual(scored);
          for (const [index, { tokenId, logprob }] of entries.entries()) {
            const expected = fakeLogprob(prompt.slice(0, index + 1), tokenId);
            expect(logprob).toBeCloseTo(expected, 5);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('summit', () => {
  const { prompts } = JSON.parse(readFileSync('models/summit/reference.json', 'utf8')) as {
    prompts: { ids: number[]; top_ids: number[]; top_logits: number[] }[];
  };

  it('scores prompts as another runtime session does, and tokens as the reference', async () => {
    const model = await models.get('summit');
    const { engine, decoder } = openEngine({
      model,
      maxNumSeqs: 4,
      maxModelLen: 128,
      maxNumBatchedTokens: 128,
      threads: 1,
      kvCacheMemory: 2 ** 28,
      prefixCaching: true,
      targetItlMs: null,
    });
    const chosen = prompts.filter(({ ids }) => ids.length < 40).slice(0, 4);
    expect(chosen.length).toBeGreaterThan(1);
    for (const [id, { ids }] of chosen.entries()) {
      const fields = { maxTokens: 1, logprobs: 10, promptLogprobs: 2 };
      engine.add(engineRequest({ id, promptTokenIds: Int32Array.from(ids), ...fields }));
    }
    const outputs: TokenOutput[] = [];
    while (engine.hasWork) outputs.push(...engine.step());
    decoder.release();
    const other = await DecoderRun.create(model.graphPath, model.manifest, 1, 64);
    for (const { id, logprobs, promptLogprobs } of outputs) {
      const { ids, top_ids: topIds, top_logits: topLogits } = chosen[id] ?? { ids: [] };
      expect([...(logprobs?.tokenIds.slice(1) ?? [])]).toEqual(topIds);
      // The reference has the likeliest logits only: differences need no normaliser.
      for (const [rank, logit] of (topLogits ?? []).entries()) {
        const found = (logprobs?.logprobs[1 + rank] ?? NaN) - (logprobs?.logprobs[1] ?? NaN);
        expect(Math.abs(found - (logit - (topLogits?.[0] ?? NaN)))).toBeLessThan(2e-3);
      }
      const entries = promptLogprobs ? own(promptLogprobs) : [];
      expect(entries.map(({ tokenId }) => tokenId)).toEqual(ids.slice(1));
      for (const [index, { tokenId, logprob }] of entries.entries()) {
        const before = ids.slice(0, index + 1);
        const [logits] = await other.step({ ids: [before], lengths: [before.length] });
        expect(Math.abs(logprob - logSoftmax(logits, tokenId))).toBeLessThan(2e-3);
      }
    }
    await other.release();
    expect(outputs).toHaveLength(chosen.length);
  });
});

function logSoftmax(logits: Float32Array = new Float32Array(), tokenId: number): number {
  const max = Math.max(...logits);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - max), 0);
  return (logits[tokenId] ?? NaN) - max - Math.log(sum);
}
