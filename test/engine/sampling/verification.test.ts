import { describe, expect, it } from 'vitest';
import type { Constraints } from '../../../src/engine/sampling/constraints.ts';
import { Sampler } from '../../../src/engine/sampling/sampler.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { withDraft } from '../../../src/engine/drafter.ts';
import { segmentOf, type StepResult } from '../../../src/engine/step.ts';
import { engineRequest } from '../../support/engine-requests.ts';

const VOCAB_SIZE = 10;

/** A model that says `next`, one token after each of the draft's and before them. */
function verify(
  draft: readonly number[],
  next: readonly number[],
  request: Parameters<typeof engineRequest>[0] = {},
  constraints: Constraints | null = null,
) {
  const sequence = new Sequence(engineRequest(request));
  sequence.numComputedTokens = sequence.numTokens - 1;
  const segment = withDraft(segmentOf(sequence, 1), Int32Array.from(draft));
  const logits = next.map((tokenId) =>
    new Float32Array(VOCAB_SIZE).fill(0).fill(5, tokenId, tokenId + 1),
  );
  const step: StepResult = { logits: [{ segment, logits }], failures: [], timedRuns: [] };
  const { sampled, failures } = new Sampler(VOCAB_SIZE, constraints).sample(step);
  const tokens = sampled.flatMap((one) => one.tokens).map(({ tokenId }) => tokenId);
  return { tokens, failures, sequence };
}

describe('the verification of a draft', () => {
  it('takes each token that would have been drawn anyway, and the one drawn after them', () => {
    expect(verify([3, 4, 5], [3, 4, 5, 6]).tokens).toEqual([3, 4, 5, 6]);
  });

  it('stops at the first that would not', () => {
    expect(verify([3, 4, 5], [3, 7, 5, 6]).tokens).toEqual([3, 7]);
    expect(verify([3, 4, 5], [8, 4, 5, 6]).tokens).toEqual([8]);
  });

  it('stops where the sequence ends', () => {
    expect(verify([3, 4, 5], [3, 4, 5, 6], { stopTokenIds: [4] }).tokens).toEqual([3, 4]);
    expect(verify([3, 4, 5], [3, 4, 5, 6], { maxTokens: 3 }).tokens).toEqual([3, 4, 5]);
  });

  it('draws each token by the text before it, drafted tokens included', () => {
    // Each token that is there already gets a logit of 5 - 9.
    const sampling = { presencePenalty: 9 };
    expect(verify([3, 3], [3, 3, 3], { sampling }).tokens).toEqual([3, 0]);
  });

  it('leaves the sequence as it was: commit moves it on', () => {
    const { sequence } = verify([3, 4], [3, 4, 5]);
    expect([...sequence.tokenIds()]).toEqual([1, 2, 3]);
  });

  it('keeps what was drawn before logits that are none', () => {
    const sequence = new Sequence(engineRequest());
    const segment = withDraft(segmentOf(sequence, 3), Int32Array.of(1));
    const logits = [Float32Array.of(0, 1), Float32Array.of(NaN, NaN)];
    const { sampled, failures } = new Sampler(2).sample({
      logits: [{ segment, logits }],
      failures: [],
      timedRuns: [],
    });
    expect(sampled).toEqual([{ segment, tokens: [{ tokenId: 1 }] }]);
    expect(failures).toEqual([{ sequence, message: 'the model computed no valid logits' }]);
  });

  it('goes by the mask after each token, and no further than masks are known', () => {
    const only = (tokenId: number) => Int32Array.of(1 << tokenId);
    const masks = [only(3), only(9), null];
    const constraints: Constraints = {
      constrain: (ready) => ({ ready, failures: [] }),
      maskOf: (_, numAccepted) => masks[numAccepted] ?? null,
    };
    // The model would rather say 8; the grammar has 3, then 9.
    expect(verify([3, 4], [8, 8, 8], {}, constraints).tokens).toEqual([3, 9]);
    expect(verify([3, 9], [8, 8, 8], {}, constraints).tokens).toEqual([3, 9]);
  });
});
