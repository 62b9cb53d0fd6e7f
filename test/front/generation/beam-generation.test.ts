import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { EngineError } from '../../../src/front/engine-process/errors.ts';
import { fanOut } from '../../../src/front/generation/fan-out.ts';
import type { GenerationObserver } from '../../../src/front/generation/generation-observer.ts';
import {
  type GenerationDelta,
  type GenerationRequest,
  spentTokens,
} from '../../../src/front/generation/generation.ts';
import { TextGenerator } from '../../../src/front/generation/text-generator.ts';
import { Admission, QueueFullError } from '../../../src/front/queue/admission.ts';
import { beamEngine, type BeamEngineOptions } from '../../support/beam-model.ts';
import { GREEDY } from '../../support/engine-requests.ts';
import { byteFallbackTokenizer } from '../../support/tokenizers.ts';

const never = new AbortController().signal;
const MODEL = { vocabSize: 40, seed: 5 };

function requestOf(fields: Partial<GenerationRequest> = {}, width = 4): GenerationRequest {
  return {
    promptTokenIds: Int32Array.of(1, 2, 3),
    maxTokens: 6,
    minTokens: 0,
    stop: [],
    includeStopStrInOutput: false,
    stopTokenIds: [],
    ignoreEos: false,
    skipSpecialTokens: true,
    sampling: { ...GREEDY, seed: 7n },
    badWords: [],
    logprobs: null,
    promptLogprobs: null,
    beams: { width, numTexts: width, lengthPenalty: 1, earlyStopping: false },
    ...fields,
  };
}

interface SetUp extends Partial<BeamEngineOptions> {
  readonly places?: number;
  readonly maxQueue?: number;
}

function setUp({ places = 16, maxQueue = 0, ...options }: SetUp = {}) {
  const { engine, requests, counts } = beamEngine({ ...MODEL, ...options });
  const generate = vi.spyOn(engine, 'generate');
  const admission = new Admission({ concurrency: places, maxQueue });
  const outcomes: string[] = [];
  const observer: GenerationObserver = {
    queued: () => void outcomes.push('queued'),
    admitted: () => void outcomes.push('admitted'),
    tokens: (count) => void outcomes.push(`${count}`),
    finished: (outcome) => void outcomes.push(outcome),
  };
  const generator = new TextGenerator({
    engine,
    tokenizer: byteFallbackTokenizer(),
    admission,
    eosTokenIds: [0],
    observe: () => observer,
  });
  return { generator, generate, requests, counts, admission, outcomes };
}

async function textsOf(deltas: AsyncIterable<GenerationDelta>) {
  const tokenIds: number[][] = [];
  const reasons: (string | null)[] = [];
  let numSpent = 0;
  for await (const delta of deltas) {
    const choice = delta.choice ?? 0;
    (tokenIds[choice] ??= []).push(...delta.tokenIds);
    if (delta.finishReason !== null) reasons[choice] = delta.finishReason;
    numSpent += spentTokens(delta);
  }
  return { tokenIds, reasons, numSpent };
}

describe('a beam search', () => {
  it('tells its texts, the best first, and counts each token that was computed', async () => {
    const { generator, requests, admission, outcomes } = setUp();
    const { tokenIds, reasons, numSpent } = await textsOf(generator.generate(requestOf(), never));
    expect(tokenIds).toHaveLength(4);
    expect(reasons).toHaveLength(4);
    expect(numSpent).toBe(requests.length);
    expect(outcomes.slice(0, 3)).toEqual(['queued', 'admitted', '1']);
    expect(outcomes.at(-1)).toBe(reasons[0]);
    expect(outcomes.filter((each) => each === 'queued')).toHaveLength(1);
    expect(admission.running + admission.waiting).toBe(0);
    // The prompt alone, then prompts with the tokens so far, so that the cache has all but the last.
    expect(requests[0]).toMatchObject({ maxTokens: 1, stopTokenIds: [], logprobs: 5 });
    expect(requests[0]?.branch).toBeUndefined();
    const later = requests.slice(1, 5);
    expect(later.filter(({ branch }) => branch === 'main')).toHaveLength(1);
    expect(later.filter(({ branch }) => branch === 'side')).toHaveLength(3);
    expect(later.every(({ outputTokenIds }) => outputTokenIds.length === 1)).toBe(true);
    const arrivals = new Set(requests.map(({ arrivalMs }) => arrivalMs));
    expect(arrivals.size).toBe(1);
  });

  it('finds the same texts with one place as with many, and holds no more than it was given', async () => {
    const many = setUp();
    const wanted = await textsOf(many.generator.generate(requestOf(), never));
    expect(many.counts.most).toBe(4);
    for (const places of [1, 2, 3]) {
      const few = setUp({ places, maxQueue: 8 });
      expect(await textsOf(few.generator.generate(requestOf(), never))).toEqual(wanted);
      expect(few.counts.most).toBe(places);
      expect(few.admission.running + few.admission.waiting).toBe(0);
    }
  });

  it('shares the places with other searches without waiting for each other', async () => {
    const { generator, admission } = setUp({ places: 4, maxQueue: 40 });
    const all = await Promise.all(
      Array.from({ length: 5 }, () => textsOf(generator.generate(requestOf(), never))),
    );
    expect(new Set(all.map((texts) => JSON.stringify(texts))).size).toBe(1);
    expect(admission.running + admission.waiting).toBe(0);
  });

  it('is refused as a whole, at once, where the queue has no room for its width', async () => {
    const { generator, requests, admission, outcomes } = setUp({ places: 3 });
    await expect(generator.generate(requestOf(), never).next()).rejects.toThrow(QueueFullError);
    expect(requests).toEqual([]);
    expect(outcomes).toEqual(['queued', 'rejected']);
    await setImmediate();
    expect(admission.running + admission.waiting).toBe(0);
  });

  it('has all its beams listen for its end without a warning', async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => void warnings.push(name);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const { generator, generate } = setUp();
    await textsOf(generator.generate(requestOf({}, 12), new AbortController().signal));
    // As the client of a real engine does.
    for (const [, signal] of generate.mock.calls) signal.addEventListener('abort', () => {});
    await setImmediate();
    expect(generate.mock.calls.length).toBeGreaterThan(12);
    expect(warnings).toEqual([]);
  });

  it('ends within a step when its client leaves, whether or not anybody reads', async () => {
    const leaving = new AbortController();
    const held = setUp({ onRow: (_, before) => (before === 9 ? leaving.abort() : undefined) });
    await expect(textsOf(held.generator.generate(requestOf(), leaving.signal))).rejects.toThrow(
      'abort',
    );
    expect(held.requests.length).toBeLessThanOrEqual(13);
    expect(held.admission.running).toBe(0);
    expect(held.outcomes.at(-1)).toBe('abort');

    const unread = setUp();
    const away = new AbortController();
    const deltas = unread.generator.generate(requestOf(), away.signal);
    await deltas.next();
    expect(unread.admission.running).toBe(4);
    away.abort(new Error('left'));
    expect(unread.admission.running).toBe(0);
    expect(unread.outcomes.at(-1)).toBe('abort');
    await expect(deltas.next()).rejects.toThrow('left');
  });

  it('gives everything back when its reader stops, and when the engine fails', async () => {
    const stopped = setUp();
    const deltas = stopped.generator.generate(requestOf(), never);
    await deltas.next();
    await deltas.return();
    expect(stopped.admission.running).toBe(0);
    expect(stopped.outcomes.at(-1)).toBe('abort');

    const failing = setUp({
      onRow: (_, before) => {
        if (before === 6) throw new EngineError('broken');
      },
    });
    await expect(textsOf(failing.generator.generate(requestOf(), never))).rejects.toThrow('broken');
    expect(failing.admission.running).toBe(0);
    expect(failing.outcomes.at(-1)).toBe('error');
  });

  it('numbers the texts of several prompts one after the other', async () => {
    const prompts = [requestOf(), requestOf({ promptTokenIds: Int32Array.of(9) })].map(
      (prompt) => ({
        ...prompt,
        beams: { width: 4, numTexts: 2, lengthPenalty: 1, earlyStopping: false },
      }),
    );
    const apart = await Promise.all(
      prompts.map((prompt) => textsOf(setUp().generator.generate(prompt, never))),
    );
    const { generator } = setUp();
    const both = await textsOf(fanOut(generator, { prompts, numChoices: 2 }, never));
    expect(both.tokenIds).toEqual(apart.flatMap(({ tokenIds }) => tokenIds));
    const alone = { prompts: prompts.slice(0, 1), numChoices: 2 };
    expect(await textsOf(fanOut(setUp().generator, alone, never))).toEqual(apart[0]);
  });

  it('tells long texts in pieces, with log-probabilities where they are asked for', async () => {
    const { generator } = setUp();
    const request = requestOf({ maxTokens: 600, minTokens: 600, logprobs: 2 }, 2);
    const pieces: GenerationDelta[] = [];
    for await (const delta of generator.generate(request, never)) {
      if (delta.tokenIds.length > 0) pieces.push(delta);
    }
    expect(pieces.map(({ tokenIds }) => tokenIds.length)).toEqual([256, 256, 88, 256, 256, 88]);
    for (const { tokenIds, logprobs = [] } of pieces) {
      expect(logprobs.map(({ tokenId }) => tokenId)).toEqual(tokenIds);
      expect(logprobs.every(({ top }) => top.length === 2)).toBe(true);
    }
  });
});
