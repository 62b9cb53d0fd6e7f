import { symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Admission, QueueFullError } from '../../../src/front/queue/admission.ts';
import type { Caller } from '../../../src/front/caller.ts';
import { ChatTemplateError } from '../../../src/front/templates/chat-message.ts';
import { TaskTooCostlyError, TaskError } from '../../../src/front/prompts/fair-pool.ts';
import {
  PromptEncoder,
  type PromptEncoderOptions,
} from '../../../src/front/prompts/prompt-encoder.ts';
import {
  type EncodedPrompt,
  isLongerThan,
  type PromptJob,
  PromptTooLongError,
  runPromptJob,
} from '../../../src/front/prompts/prompt-job.ts';
import { PromptPool } from '../../../src/front/prompts/prompt-pool.ts';
import { loadTextModel } from '../../../src/front/prompts/load-text-model.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SOURCE = { folder: 'models/summit', vocabSize: 4096 };
const model = await loadTextModel(SOURCE);
const one = new PromptPool(SOURCE, { maxThreads: 1 });
afterAll(() => one.close());

const never = new AbortController().signal;
const caller: Caller = { client: '', signal: never };
const LONG = 'The fox ran over the hill and sang a song of 27 kites. '.repeat(400);
/** Takes a tokenizer a second. */
const SLOW = 'etaoinshrdlu'.repeat(25_000);
const maxTokens = Infinity;
const OPTIONS = { addGenerationPrompt: true, maxTokens };
const long = (text = LONG): PromptJob => ({
  type: 'texts',
  texts: [text],
  addSpecialTokens: true,
  maxTokens,
});
/** Not done within the time of any test: it takes minutes. */
const endless: PromptJob = {
  type: 'texts',
  texts: Array.from({ length: 200 }, () => SLOW),
  addSpecialTokens: true,
  maxTokens,
};
const tokensOf = (text: string) => model.tokenizer.encode(text, { addSpecialTokens: true });

/** A pool that only notes what it is given, and answers when told to. */
function heldPool() {
  const answers: ((prompts: readonly EncodedPrompt[]) => void)[] = [];
  const run = () =>
    new Promise<readonly EncodedPrompt[]>((answer) => {
      answers.push(answer);
    });
  return { answers, run };
}

const inline: PromptEncoderOptions['pool'] = { run: async (job) => runPromptJob(model, job) };

function encoderOver(pool: PromptEncoderOptions['pool'], maxQueue = 8) {
  const admission = new Admission({ concurrency: 1, maxQueue });
  return { admission, encoder: new PromptEncoder({ model, admission, pool }) };
}

describe('prompts from threads', () => {
  it('are the same as those of the main thread', async () => {
    const here = encoderOver(inline).encoder;
    const there = encoderOver(one).encoder;
    const texts = [LONG, 'short', '', 'naïve 漢字 🎿 <|im_end|>'];
    for (const addSpecialTokens of [true, false]) {
      const options = { addSpecialTokens, maxTokens };
      const expected = await here.encodeTexts(texts, options, caller);
      expect(await there.encodeTexts(texts, options, caller)).toEqual(expected);
    }
    const messages = Array.from({ length: 200 }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `message ${index} <|im_end|>`,
    }));
    const chat = await there.encodeChat(messages, OPTIONS, caller);
    expect(chat).toEqual(await here.encodeChat(messages, OPTIONS, caller));
    expect(chat.text).toContain('message 199 <|im_end|>');
    const words = Array.from({ length: 100 }, (_, index) => `word${index}`);
    const badWords = await there.encodeBadWords(words, caller);
    expect(badWords).toEqual(await here.encodeBadWords(words, caller));
    expect(badWords.length).toBeGreaterThanOrEqual(words.length);
    const ids = [...tokensOf(LONG)];
    expect(await there.decode(ids, caller)).toBe(LONG);
  });

  it('fail by the template as on the main thread', async () => {
    const messages = [{ role: 'user', content: [{ type: 'image', text: LONG }] }];
    const refusal = async (pool: PromptEncoderOptions['pool']) => {
      const error: unknown = await encoderOver(pool)
        .encoder.encodeChat(messages, OPTIONS, caller)
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ChatTemplateError);
      return String(error);
    };
    expect(await refusal(one)).toBe(await refusal(inline));
  });

  it('are refused unread where they must come to too many tokens', async () => {
    const pool = heldPool();
    const { encoder } = encoderOver(pool);
    const options = { addSpecialTokens: true, maxTokens: 100 };
    const refused = encoder.encodeTexts(['short', LONG], options, caller);
    await expect(refused).rejects.toBeInstanceOf(PromptTooLongError);
    expect(pool.answers).toHaveLength(0);
    const chat = one.run(
      {
        type: 'chat',
        messages: [{ role: 'user', content: SLOW }],
        options: OPTIONS,
        maxTokens: 100,
      },
      caller,
    );
    await expect(chat).rejects.toMatchObject({
      name: 'PromptTooLongError',
      minTokens: expect.toSatisfy((count: number) => count > 100),
    });
  });

  it('are not waited for by aborted requests, and are not made if none has begun', async () => {
    const controller = new AbortController();
    const gone = { client: '', signal: controller.signal };
    const before = one.run(long(), caller);
    const aborted = one.run(long(), gone);
    const after = one.run(long('next'), caller);
    const reason = new Error('gone');
    controller.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    expect((await before)[0]?.tokenIds).toEqual(tokensOf(LONG));
    expect((await after)[0]?.tokenIds).toEqual(tokensOf('next'));
    await expect(one.run(long(), gone)).rejects.toBe(reason);
  });

  it('stop when their client goes', async () => {
    const controller = new AbortController();
    const running = one.run(endless, { client: '', signal: controller.signal });
    await expect(Promise.race([running, pause(300)])).resolves.toBe('waited');
    const reason = new Error('gone');
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    // The only thread would else be busy for longer than this test may take.
    expect((await one.run(long('next'), caller))[0]?.tokenIds).toEqual(tokensOf('next'));
  }, 30_000);

  it('end with their thread at the deadline, and the next one is made by another', async () => {
    const pool = new PromptPool(SOURCE, { maxThreads: 1 }, 400);
    await expect(pool.run(endless, caller)).rejects.toThrow(
      new TaskTooCostlyError('takes longer than the limit of 0.4 s'),
    );
    await expect
      .poll(() => pool.run(long('next'), caller).catch(String), { timeout: 30_000 })
      .toEqual([{ text: '', tokenIds: tokensOf('next') }]);
    pool.close();
  }, 30_000);

  it('cannot be wedged by what does not cross threads', async () => {
    let deep: unknown = 'x';
    for (let depth = 0; depth < 20_000; depth++) deep = { deep };
    const job: PromptJob = {
      type: 'chat',
      messages: [{ role: 'user', content: LONG }],
      options: { ...OPTIONS, kwargs: { deep } },
      maxTokens,
    };
    for (let time = 0; time < 3; time++) {
      await expect(one.run(job, caller)).rejects.toBeInstanceOf(TaskError);
    }
    expect((await one.run(long(), caller))[0]?.tokenIds).toEqual(tokensOf(LONG));
  });

  it('of one client leave a thread to the others', async () => {
    const pool = new PromptPool(SOURCE, { maxThreads: 2 });
    const gone = new AbortController();
    const flood = Array.from({ length: 6 }, () =>
      pool.run(endless, { client: 'a', signal: gone.signal }).catch((error: unknown) => error),
    );
    const other = await pool.run(long(), { client: 'b', signal: never });
    expect(other[0]?.tokenIds).toEqual(tokensOf(LONG));
    const reason = new Error('gone');
    gone.abort(reason);
    expect(await Promise.all(flood)).toEqual(flood.map(() => reason));
    pool.close();
  }, 30_000);

  it('run one at a time when they are large, whosever they are', async () => {
    const pool = new PromptPool(SOURCE, { maxThreads: 2 });
    const gone = new AbortController();
    const large = ['', 'a', 'b'].map((client) =>
      pool.run(endless, { client, signal: gone.signal }).catch((error: unknown) => error),
    );
    const small = pool.run(long(), { client: 'c', signal: never });
    const first = await Promise.race([small, ...large]);
    expect(first).toEqual([{ text: '', tokenIds: tokensOf(LONG) }]);
    const reason = new Error('gone');
    gone.abort(reason);
    expect(await Promise.all(large)).toEqual(large.map(() => reason));
    pool.close();
  }, 30_000);

  it('fail with their thread, alone', async () => {
    const folder = join(await temporaryDirectory(), 'model');
    const pool = new PromptPool({ ...SOURCE, folder }, { maxThreads: 1 });
    // The first thread found nothing to load, and ended.
    await expect(pool.run(long(), caller)).rejects.toThrow(/tokenizer\.json is missing/);
    symlinkSync(resolve(SOURCE.folder), folder);
    await expect
      .poll(() => pool.run(long('next'), caller).catch(String), { timeout: 30_000 })
      .toEqual([{ text: '', tokenIds: tokensOf('next') }]);
    pool.close();
  });

  it('fail when the pool closes', async () => {
    const pool = new PromptPool(SOURCE, { maxThreads: 1 });
    const jobs = [pool.run(long(), caller), pool.run(long(), caller)];
    pool.close();
    await Promise.all(jobs.map((job) => expect(job).rejects.toBeInstanceOf(TaskError)));
  });
});

function pause(ms: number): Promise<string> {
  return new Promise((resolvePromise) => setTimeout(() => resolvePromise('waited'), ms));
}

describe('the prompt encoder', () => {
  it('keeps short prompts on the main thread', async () => {
    const pool = heldPool();
    const { encoder } = encoderOver(pool);
    const options = { addSpecialTokens: true, maxTokens };
    const [tokenIds] = await encoder.encodeTexts(['hello'], options, caller);
    expect(tokenIds).toEqual(tokensOf('hello'));
    expect(pool.answers).toHaveLength(0);
  });

  it('counts requests as waiting while their prompts are made', async () => {
    const pool = heldPool();
    const { admission, encoder } = encoderOver(pool, 1);
    const options = { addSpecialTokens: true, maxTokens };
    const encode = () => encoder.encodeTexts([LONG], options, caller);
    const made = [encode(), encode()];
    expect(admission.waiting).toBe(2);
    await expect(encode()).rejects.toBeInstanceOf(QueueFullError);
    expect(pool.answers).toHaveLength(2);
    for (const answer of pool.answers) answer([{ text: '', tokenIds: new Int32Array(3) }]);
    await Promise.all(made);
    expect(admission.waiting).toBe(0);
    await expect(admission.acquire(never, { numPromptTokens: 3 })).resolves.toBeTypeOf('function');
  });
});

describe('whether a job takes a thread', () => {
  const short = { role: 'user', content: 'hi' };
  const chat = (messages: (typeof short)[]): PromptJob => ({
    type: 'chat',
    messages,
    options: OPTIONS,
    maxTokens,
  });

  it.each([
    ['one long text', long('x'.repeat(1001)), true],
    ['one short text', long('x'.repeat(100)), false],
    ['many short texts', { ...long(), texts: Array.from({ length: 120 }, () => 'hi') }, true],
    ['many short messages', chat(Array.from({ length: 40 }, () => short)), true],
    ['one short message', chat([short]), false],
    ['a long message', chat([{ ...short, content: 'x'.repeat(1001) }]), true],
    ['long tools', { ...chat([short]), options: { ...OPTIONS, tools: ['x'.repeat(999)] } }, true],
    [
      'long names',
      { ...chat([short]), options: { ...OPTIONS, kwargs: { ['x'.repeat(999)]: 1 } } },
      true,
    ],
  ] as const)('is decided by its size: %s', (_, job, expected) => {
    expect(isLongerThan(1000, job)).toBe(expected);
  });
});
