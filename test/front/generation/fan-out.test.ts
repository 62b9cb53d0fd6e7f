import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { Admission, QueueFullError } from '../../../src/front/queue/admission.ts';
import { choiceSeed } from '../../../src/front/generation/choice-seed.ts';
import { fanOut } from '../../../src/front/generation/fan-out.ts';
import type { GenerationRequest, Generator } from '../../../src/front/generation/generation.ts';
import { TextGenerator } from '../../../src/front/generation/text-generator.ts';
import { FakeEngine, type FakeEngineOptions, type Script } from '../../support/fake-engine.ts';
import { GREEDY } from '../../support/engine-requests.ts';
import { byteFallbackTokenizer } from '../../support/tokenizers.ts';

const never = new AbortController().signal;

function requestOf(fields: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    promptTokenIds: Int32Array.from({ length: 20 }, (_, id) => id),
    maxTokens: 4,
    minTokens: 0,
    stop: [],
    includeStopStrInOutput: false,
    stopTokenIds: [],
    ignoreEos: true,
    skipSpecialTokens: true,
    sampling: { ...GREEDY, seed: 7n },
    badWords: [],
    logprobs: null,
    promptLogprobs: null,
    ...fields,
  };
}

function* endless(): Iterable<number> {
  for (;;) yield 100;
}

function setUp(script: Script = endless, options: FakeEngineOptions = {}, places = 16) {
  const engine = new FakeEngine(script, options);
  const admission = new Admission({ concurrency: places, maxQueue: 0 });
  const tokenizer = byteFallbackTokenizer();
  const generator = new TextGenerator({ engine, tokenizer, admission, eosTokenIds: [] });
  return { engine, admission, generator };
}

async function drain(deltas: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of deltas);
}

describe('choiceSeed', () => {
  it('keeps the first choice’s, and gives the others seeds of their own', () => {
    expect(choiceSeed(5n, 0)).toBe(5n);
    const seeds = [0n, 1n, 2n, 2n ** 64n - 1n].flatMap((seed) =>
      Array.from({ length: 50 }, (_, index) => choiceSeed(seed, index)),
    );
    expect(new Set(seeds).size).toBe(seeds.length);
    expect(seeds.every((seed) => seed >= 0n && seed < 2n ** 64n)).toBe(true);
    expect(choiceSeed(1n, 3)).toBe(choiceSeed(1n, 3));
  });

  it('mixes as SplitMix64 does', () => {
    // The first outputs of the published generator, seeded with 1234567.
    expect(choiceSeed(1234567n, 1)).toBe(6457827717110365317n);
    expect(choiceSeed(1234567n, 2)).toBe(3203168211198807973n);
  });
});

describe('fanOut', () => {
  it('numbers choices prompt by prompt, each with its own seed', async () => {
    const { engine, generator, admission } = setUp();
    const prompts = [requestOf({ maxTokens: 2 }), requestOf({ maxTokens: 3 })];
    const counts = [0, 0, 0, 0, 0, 0];
    const finished: number[] = [];
    for await (const delta of fanOut(generator, { prompts, numChoices: 3 }, never)) {
      const choice = delta.choice ?? -1;
      counts[choice] = (counts[choice] ?? 0) + delta.tokenIds.length;
      if (delta.finishReason) finished.push(choice);
    }
    expect(counts).toEqual([2, 2, 2, 3, 3, 3]);
    expect(finished.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
    const seeds = engine.requests.map(({ sampling }) => sampling.seed);
    expect(new Set(seeds)).toEqual(new Set([0, 1, 2].map((index) => choiceSeed(7n, index))));
    expect(admission.running).toBe(0);
  });

  it('runs a single sequence as it is', async () => {
    const { engine, generator } = setUp();
    const deltas = fanOut(generator, { prompts: [requestOf()], numChoices: 1 }, never);
    for await (const delta of deltas) expect(delta.choice ?? 0).toBe(0);
    expect(engine.requests[0]?.sampling.seed).toBe(7n);
  });

  /** A generator whose sequences give their first token when told to. */
  function gated() {
    const started: bigint[] = [];
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const generator: Generator = {
      async *generate({ sampling }, _signal, mayStart) {
        await mayStart;
        started.push(sampling.seed);
        await gate;
        yield { text: '', tokenIds: [1], finishReason: null, stopReason: null };
        yield { text: '', tokenIds: [1], finishReason: 'length', stopReason: null };
      },
    };
    return { generator, started, open };
  }

  it('starts the other choices when the first has its first token', async () => {
    const { generator, started, open } = gated();
    const drained = drain(fanOut(generator, { prompts: [requestOf()], numChoices: 4 }, never));
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    expect(started).toEqual([7n]);
    open();
    await drained;
    expect(started).toEqual([0, 1, 2, 3].map((index) => choiceSeed(7n, index)));
  });

  it('starts all at once when the prompt fills no block of the cache', async () => {
    const { generator, started, open } = gated();
    const prompts = [requestOf({ promptTokenIds: Int32Array.of(1, 2, 3) })];
    const drained = drain(fanOut(generator, { prompts, numChoices: 4 }, never));
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    expect(started).toHaveLength(4);
    open();
    await drained;
  });

  it('takes all places before the first token', async () => {
    const { generator, admission } = setUp();
    const deltas = fanOut(generator, { prompts: [requestOf()], numChoices: 4 }, never);
    await deltas.next();
    expect(admission.running).toBe(4);
    await deltas.return();
  });

  it.each(['leaves', 'aborts'])('frees everything when the consumer %s', async (how) => {
    const { engine, generator, admission } = setUp(endless, { delayMs: 1 });
    const controller = new AbortController();
    const prompts = [requestOf({ maxTokens: 1000 }), requestOf({ maxTokens: 1000 })];
    const deltas = fanOut(generator, { prompts, numChoices: 3 }, controller.signal);
    for (let count = 0; count < 8; count++) await deltas.next();
    if (how === 'aborts') controller.abort(new Error('left'));
    const ended = how === 'aborts' ? drain(deltas) : deltas.return().then(() => 'left');
    expect(await ended.catch((error: Error) => error.message)).toBe('left');
    await vi.waitFor(() => expect([engine.running, admission.running]).toEqual([0, 0]));
    expect(engine.aborted).toBe(6);
  });

  it('ends all when one fails', async () => {
    let numStarted = 0;
    const { engine, generator, admission } = setUp(
      function* script() {
        const isSecond = ++numStarted === 2;
        yield 100;
        if (isSecond) throw new Error('out of luck');
        yield* endless();
      },
      { delayMs: 1 },
    );
    const fields = { maxTokens: 1000, promptTokenIds: Int32Array.of(1) };
    const deltas = fanOut(generator, { prompts: [requestOf(fields)], numChoices: 3 }, never);
    await expect(drain(deltas)).rejects.toThrow('out of luck');
    await vi.waitFor(() => expect([engine.running, admission.running]).toEqual([0, 0]));
    expect([engine.failed, engine.aborted]).toEqual([1, 2]);
  });

  it('is refused as a whole when there are not places enough', async () => {
    const { engine, generator, admission } = setUp(endless, {}, 3);
    const deltas = fanOut(generator, { prompts: [requestOf()], numChoices: 4 }, never);
    await expect(deltas.next()).rejects.toThrow(QueueFullError);
    await vi.waitFor(() => expect([engine.running, admission.running]).toEqual([0, 0]));
  });

  it('lets the others go on when the first ends at once', async () => {
    const { generator } = setUp(() => []);
    const fields = { ignoreEos: false, stopTokenIds: [5] };
    const finished: number[] = [];
    const request = { prompts: [requestOf(fields)], numChoices: 3 };
    for await (const { choice, finishReason } of fanOut(generator, request, never)) {
      if (finishReason) finished.push(choice ?? -1);
    }
    expect(new Set(finished)).toEqual(new Set([0, 1, 2]));
  });
});
