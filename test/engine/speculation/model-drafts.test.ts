import { describe, expect, it } from 'vitest';
import { ModelDrafts } from '../../../src/engine/speculation/model-drafts.ts';
import type { EngineRequest } from '../../../src/engine/request.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import type { Decoder, StepPlan } from '../../../src/engine/step.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { FAKE_VOCAB_SIZE, FakeDecoder, fakeNextToken } from '../../support/fake-decoder.ts';

const CAPACITY = 24;

/** Drafts over the fake model, and how many tokens that computed in each draft. */
function open(numSlots: number) {
  const fake = new FakeDecoder(numSlots, CAPACITY);
  let numComputed = 0;
  const requests: EngineRequest[] = [];
  const decoder: Decoder = {
    execute(plan: StepPlan) {
      for (const { sequence, numTokens } of plan.segments) {
        numComputed += numTokens;
        requests.push(sequence.request);
      }
      return fake.execute(plan);
    },
    release: () => {},
  };
  const drafts = new ModelDrafts({
    decoder,
    vocabSize: FAKE_VOCAB_SIZE,
    numSlots,
    capacity: CAPACITY,
  });
  return {
    fake,
    requests,
    draft: (sequence: Sequence, numTokens: number) => {
      numComputed = 0;
      const { tokenIds } = drafts.draft(sequence, numTokens);
      return { tokenIds: [...tokenIds], numComputed };
    },
  };
}

function sequenceOf(id: number): Sequence {
  return new Sequence(engineRequest({ id, promptTokenIds: Int32Array.of(id, 2, 3, 4, 5) }));
}

function continuation(sequence: Sequence, numTokens: number): number[] {
  const text = [...sequence.tokenIds()];
  for (let index = 0; index < numTokens; index++) text.push(fakeNextToken(text));
  return text.slice(sequence.numTokens);
}

describe('drafts from a model', () => {
  it('are what it says, each token computed once', () => {
    const { draft } = open(1);
    const sequence = sequenceOf(1);
    const first = continuation(sequence, 3);
    // The prompt, and two of the three drafted.
    expect(draft(sequence, 3)).toEqual({ tokenIds: first, numComputed: 7 });
    for (const tokenId of first) sequence.append(tokenId);
    expect(draft(sequence, 2)).toEqual({ tokenIds: continuation(sequence, 2), numComputed: 2 });
  });

  it('see no embeddings, which are of the other model', () => {
    const { draft, requests } = open(1);
    const embeddings = [{ start: 1, rows: new Float32Array(8) }];
    draft(new Sequence(engineRequest({ promptTokenIds: Int32Array.of(1, -2, 3), embeddings })), 2);
    expect(requests).toHaveLength(2);
    for (const request of requests) expect(request).not.toHaveProperty('embeddings');
  });

  it('recover from having been wrong', () => {
    const { draft } = open(1);
    const sequence = sequenceOf(1);
    const [right = 0, wrong = 0] = draft(sequence, 4).tokenIds;
    sequence.append(right);
    sequence.append((wrong + 1) % FAKE_VOCAB_SIZE);
    expect(draft(sequence, 3)).toEqual({ tokenIds: continuation(sequence, 3), numComputed: 3 });
  });

  it('keep a slot for each of the latest sequences', () => {
    const { draft } = open(2);
    const [a, b, c] = [sequenceOf(1), sequenceOf(2), sequenceOf(3)];
    for (const sequence of [a, b, a]) draft(sequence, 1);
    expect(draft(b, 1)).toEqual({ tokenIds: continuation(b, 1), numComputed: 1 });
    expect(draft(c, 1)).toEqual({ tokenIds: continuation(c, 1), numComputed: 5 });
    expect(draft(b, 1).numComputed).toBe(1);
    expect(draft(a, 1)).toEqual({ tokenIds: continuation(a, 1), numComputed: 5 });
  });

  it("end where the model's positions do", () => {
    const { draft } = open(1);
    const sequence = sequenceOf(1);
    while (sequence.numTokens < CAPACITY - 2) sequence.append(1);
    expect(draft(sequence, 4).tokenIds).toEqual(continuation(sequence, 2));
    while (sequence.numTokens < CAPACITY + 1) sequence.append(1);
    expect(draft(sequence, 4).tokenIds).toEqual([]);
  });

  it('are empty when the model fails', () => {
    const { draft, fake } = open(1);
    fake.failing.add(1);
    expect(draft(sequenceOf(1), 4).tokenIds).toEqual([]);
  });
});
