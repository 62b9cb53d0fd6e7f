import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  Admission,
  QueueFullError,
  ShuttingDownError,
} from '../../../src/front/queue/admission.ts';
import { type TokenBatch } from '../../../src/front/engine-process/engine-contract.ts';
import { EngineError } from '../../../src/front/engine-process/errors.ts';
import type {
  GenerationDelta,
  GenerationRequest,
} from '../../../src/front/generation/generation.ts';
import {
  TextGenerator,
  type TextGeneratorOptions,
} from '../../../src/front/generation/text-generator.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { FakeEngine, type FakeEngineOptions, type Script } from '../../support/fake-engine.ts';

const never = new AbortController().signal;
const EOS = 2;

let tokenizer: TextTokenizer;

beforeAll(async () => {
  tokenizer = await TextTokenizer.load('models/summit');
});

const encode = (text: string): number[] => [...tokenizer.encode(text, { addSpecialTokens: false })];

function requestOf(fields: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    promptTokenIds: Int32Array.from([1]),
    maxTokens: 1000,
    minTokens: 0,
    stop: [],
    includeStopStrInOutput: false,
    stopTokenIds: [],
    ignoreEos: false,
    skipSpecialTokens: true,
    sampling: {
      temperature: 0,
      topK: 0,
      topP: 1,
      minP: 0,
      repetitionPenalty: 1,
      presencePenalty: 0,
      frequencyPenalty: 0,
      seed: 0n,
      logitBias: null,
      allowedTokenIds: null,
    },
    badWords: [],
    logprobs: null,
    promptLogprobs: null,
    ...fields,
  };
}

interface Setup {
  readonly engine: FakeEngine;
  readonly admission: Admission;
  readonly generator: TextGenerator;
  /** Events that observers were told, without times. */
  readonly events: string[];
}

function setUp(
  script: Script,
  options: FakeEngineOptions & Partial<TextGeneratorOptions> = {},
): Setup {
  const engine = new FakeEngine(script, options);
  const admission = options.admission ?? new Admission({ concurrency: 1, maxQueue: 1 });
  const events: string[] = [];
  const generator = new TextGenerator({
    engine,
    tokenizer,
    admission,
    eosTokenIds: tokenizer.eosTokenIds,
    observe: () => ({
      queued: (time) => events.push(time > 0 ? 'queued' : 'no time'),
      admitted: (time) => events.push(time > 0 ? 'admitted' : 'no time'),
      tokens: (count, time) => events.push(time > 0 ? `tokens ${count}` : 'no time'),
      finished: (outcome, time) => events.push(time > 0 ? outcome : 'no time'),
    }),
  });
  return { engine, admission, generator, events };
}

interface Completion {
  readonly text: string;
  readonly tokenIds: number[];
  readonly finishReason: GenerationDelta['finishReason'];
  readonly stopReason: GenerationDelta['stopReason'];
}

async function complete(
  { generator }: Setup,
  fields: Partial<GenerationRequest> = {},
): Promise<Completion> {
  let text = '';
  const tokenIds: number[] = [];
  let last: GenerationDelta | undefined;
  for await (const delta of generator.generate(requestOf(fields), never)) {
    expect(last?.finishReason ?? null).toBeNull();
    text += delta.text;
    tokenIds.push(...delta.tokenIds);
    last = delta;
  }
  if (last === undefined) throw new Error('no delta');
  return { text, tokenIds, finishReason: last.finishReason, stopReason: last.stopReason };
}

function expectAllFree({ engine, admission }: Setup): void {
  expect(engine.running).toBe(0);
  expect([admission.running, admission.waiting]).toEqual([0, 0]);
}

describe('TextGenerator', () => {
  it('streams text until the end of the sequence, whose token is not part of it', async () => {
    const ids = encode('The cat sat on the mat.');
    const setup = setUp(() => ids);
    expect(await complete(setup)).toEqual({
      text: 'The cat sat on the mat.',
      tokenIds: [...ids, EOS],
      finishReason: 'stop',
      stopReason: null,
    });
    expectAllFree(setup);
    expect(setup.events).toEqual([
      'queued',
      'admitted',
      ...Array.from({ length: ids.length + 1 }, () => 'tokens 1'),
      'stop',
    ]);
  });

  it('asks the engine for what the request says, and to stop at the end of sequence', async () => {
    const setup = setUp(() => []);
    const request = requestOf({ stopTokenIds: [7, EOS], maxTokens: 5, minTokens: 0 });
    await complete(setup, request);
    expect(setup.engine.requests[0]).toMatchObject({
      promptTokenIds: request.promptTokenIds,
      outputTokenIds: new Int32Array(),
      maxTokens: 5,
      minTokens: 0,
      stopTokenIds: [2, 0, 7],
      sampling: request.sampling,
      badWords: [],
      logprobs: null,
      promptLogprobs: null,
    });
    const badWords = [Int32Array.from(encode('the')), Int32Array.from(encode(' the'))];
    const rules = { badWords, logprobs: 3, promptLogprobs: 1 };
    await complete(setup, { stopTokenIds: [7], ignoreEos: true, ...rules });
    expect(setup.engine.requests[1]).toMatchObject({
      badWords,
      logprobs: 3,
      promptLogprobs: 1,
    });
    expect(setup.engine.requests[1]?.stopTokenIds).toEqual([7]);
  });

  it('names a stop token of the request, and shows it if asked to', async () => {
    const [stopToken = -1] = encode('.');
    const ids = [...encode('Yes'), stopToken];
    const fields = { stopTokenIds: [stopToken] };
    const expected = { tokenIds: ids, finishReason: 'stop', stopReason: stopToken };
    expect(
      await complete(
        setUp(() => ids),
        fields,
      ),
    ).toEqual({ ...expected, text: 'Yes' });
    const shown = await complete(
      setUp(() => ids),
      { ...fields, includeStopStrInOutput: true },
    );
    expect(shown).toEqual({ ...expected, text: 'Yes.' });
  });

  it('names no stop token when it was the length that ended it', async () => {
    const setup = setUp(() => [100, 100]);
    const fields = { stopTokenIds: [100], minTokens: 2, maxTokens: 2 };
    expect(await complete(setup, fields)).toMatchObject({
      finishReason: 'length',
      stopReason: null,
    });
  });

  it('gives out all text at the length limit, half a stop string and half a character too', async () => {
    const [lead = -1] = encode('€');
    const ids = [...encode('one sto'), lead];
    const setup = setUp(() => [...ids, ...encode('more')]);
    expect(await complete(setup, { maxTokens: ids.length, stop: ['stop', 'o\uFFFDx'] })).toEqual({
      text: 'one sto\uFFFD',
      tokenIds: ids,
      finishReason: 'length',
      stopReason: null,
    });
    expectAllFree(setup);
    expect(setup.events.at(-1)).toBe('length');
  });

  it('breaks off at a stop string, however tokens come together', async () => {
    const before = encode('one two');
    const stop = encode(' END');
    const ids = [...before, ...stop];
    expect(stop.length).toBeGreaterThan(1);
    for (const tokensPerBatch of [1, 2, 3, 100]) {
      const setup = setUp(() => [...ids, ...encode(' and more'), ...encode(' to come')], {
        tokensPerBatch,
      });
      expect(await complete(setup, { stop: ['nowhere', ' END'] })).toEqual({
        text: 'one two',
        tokenIds: ids,
        finishReason: 'stop',
        stopReason: ' END',
      });
      expectAllFree(setup);
      expect(setup.events.at(-1)).toBe('stop');
    }
    const shown = await complete(
      setUp(() => ids),
      { stop: [' END'], includeStopStrInOutput: true },
    );
    expect(shown.text).toBe('one two END');
  });

  it('finds a stop string that only the end of the text makes certain', async () => {
    const ids = encode('xabc');
    const completion = await complete(
      setUp(() => ids),
      { stop: ['abcd', 'bc'] },
    );
    expect(completion).toMatchObject({ text: 'xa', finishReason: 'stop', stopReason: 'bc' });
  });

  it('overlooks stop strings within the least number of tokens', async () => {
    const word = encode(' END');
    const ids = [...word, ...word, ...word];
    const completion = await complete(
      setUp(() => ids),
      {
        stop: [' END'],
        minTokens: word.length,
      },
    );
    expect(completion).toMatchObject({ text: ' END', stopReason: ' END' });
    expect(completion.tokenIds).toEqual([...word, ...word]);
  });

  it('gives the text of all tokens, and every token once, whatever they are', async () => {
    const tokenId = fc.integer({ min: 3, max: 4095 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(tokenId, { maxLength: 20 }),
        fc.integer({ min: 1, max: 7 }),
        async (ids, tokensPerBatch) => {
          const completion = await complete(setUp(() => ids, { tokensPerBatch }));
          expect(completion.text).toBe(tokenizer.decode(ids, { skipSpecialTokens: true }));
          expect(completion.tokenIds).toEqual([...ids, EOS]);
        },
      ),
      { numRuns: 50 },
    );
  });
});

function* endless(): Generator<number> {
  for (;;) yield 100;
}

async function* nothing(): AsyncGenerator<TokenBatch> {}

describe('TextGenerator, exits', () => {
  it('frees everything when the consumer breaks off', async () => {
    const setup = setUp(endless);
    for await (const delta of setup.generator.generate(requestOf(), never)) {
      expect(delta.tokenIds).toEqual([100]);
      expect([setup.engine.running, setup.admission.running]).toEqual([1, 1]);
      break;
    }
    expectAllFree(setup);
    expect(setup.engine.aborted).toBe(1);
    expect(setup.events.at(-1)).toBe('abort');
  });

  it('frees everything before the last delta is out, for consumers that stop there', async () => {
    const setup = setUp(() => []);
    const generation = setup.generator.generate(requestOf(), never);
    const { value } = await generation.next();
    expect(value?.finishReason).toBe('stop');
    expectAllFree(setup);
    expect(setup.events.at(-1)).toBe('stop');
  });

  it('throws the reason of an abort and frees everything', async () => {
    const setup = setUp(endless);
    const controller = new AbortController();
    const generation = setup.generator.generate(requestOf(), controller.signal);
    await generation.next();
    controller.abort(new Error('left'));
    await expect(generation.next()).rejects.toThrow('left');
    expectAllFree(setup);
    expect(setup.events.at(-1)).toBe('abort');
  });

  it('frees everything on an abort though nobody reads on', async () => {
    const setup = setUp(endless);
    const controller = new AbortController();
    const generation = setup.generator.generate(requestOf(), controller.signal);
    await generation.next();
    controller.abort(new Error('left'));
    await setImmediate();
    expectAllFree(setup);
    expect(setup.events.at(-1)).toBe('abort');
    await expect(generation.next()).rejects.toThrow('left');
  });

  it.each(['next', 'return'] as const)('tells a timeout from an abort, by %s', async (call) => {
    const setup = setUp(endless);
    const controller = new AbortController();
    const generation = setup.generator.generate(requestOf(), controller.signal);
    await generation.next();
    controller.abort(new DOMException('its time is over', 'TimeoutError'));
    await Promise.allSettled([generation[call]?.()]);
    expect(setup.events.at(-1)).toBe('timeout');
    expectAllFree(setup);
  });

  it('leaves the queue on abort', async () => {
    const setup = setUp(endless);
    const running = setup.generator.generate(requestOf(), never);
    await running.next();
    const controller = new AbortController();
    const waiting = setup.generator.generate(requestOf(), controller.signal).next();
    await setImmediate();
    expect(setup.admission.waiting).toBe(1);
    controller.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    expect(setup.admission.waiting).toBe(0);
    expect(setup.events.at(-1)).toBe('abort');
    await running.return();
    expectAllFree(setup);
    expect(setup.engine.requests.length).toBe(1);
  });

  it('passes on a failure of the engine and frees everything', async () => {
    const setup = setUp(function* failing() {
      yield 100;
      throw new EngineError('out of memory');
    });
    const generation = setup.generator.generate(requestOf(), never);
    await generation.next();
    await expect(generation.next()).rejects.toThrow('out of memory');
    expectAllFree(setup);
    expect(setup.engine.failed).toBe(1);
    expect(setup.events.at(-1)).toBe('error');
  });

  it('takes an engine that ends without a reason for a failure', async () => {
    const setup = setUp(() => []);
    setup.engine.generate = nothing;
    await expect(complete(setup)).rejects.toThrow(EngineError);
    expectAllFree(setup);
  });

  it('refuses when too many wait or the server shuts down', async () => {
    const admission = new Admission({ concurrency: 1, maxQueue: 0 });
    const setup = setUp(endless, { admission });
    const running = setup.generator.generate(requestOf(), never);
    await running.next();
    await expect(complete(setup)).rejects.toThrow(QueueFullError);
    expect(setup.events.slice(-2)).toEqual(['queued', 'rejected']);
    await running.return();
    admission.close();
    await expect(complete(setup)).rejects.toThrow(ShuttingDownError);
    expectAllFree(setup);
  });
});
