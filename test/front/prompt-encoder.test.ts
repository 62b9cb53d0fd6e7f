import { symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Admission, QueueFullError } from '../../src/front/admission.ts';
import { ChatTemplateError } from '../../src/front/chat-message.ts';
import { PromptEncoder } from '../../src/front/prompt-encoder.ts';
import { type EncodedPrompt, isLongerThan, type PromptJob } from '../../src/front/prompt-job.ts';
import { PromptThreadError } from '../../src/front/prompt-thread.ts';
import { PromptThreads } from '../../src/front/prompt-threads.ts';
import { loadTextModel } from '../../src/front/text-model.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const SOURCE = { folder: 'models/summit', vocabSize: 4096 };
const model = await loadTextModel(SOURCE);
const one = new PromptThreads(SOURCE, 1);
afterAll(() => one.close());

const never = new AbortController().signal;
const caller = { client: '', signal: never };
const LONG = 'The fox ran over the hill and sang a song of 27 kites. '.repeat(400);
const OPTIONS = { addGenerationPrompt: true };
const long = (text = LONG): PromptJob => ({ type: 'texts', texts: [text], addSpecialTokens: true });

/** A pool that only notes what it is given, and answers when told to. */
function heldThreads() {
  const answers: ((prompts: readonly EncodedPrompt[]) => void)[] = [];
  const run = () =>
    new Promise<readonly EncodedPrompt[]>((answer) => {
      answers.push(answer);
    });
  return { answers, run };
}

function encoderOver(threads: Pick<PromptThreads, 'run'> | null, maxQueue = 8) {
  const admission = new Admission({ concurrency: 1, maxQueue });
  return { admission, encoder: new PromptEncoder({ model, admission, threads }) };
}

describe('prompts from threads', () => {
  it('are the same as those of the main thread', async () => {
    const here = encoderOver(null).encoder;
    const there = encoderOver(one).encoder;
    const texts = [LONG, 'short', '', 'naïve 漢字 🎿 <|im_end|>'];
    for (const addSpecialTokens of [true, false]) {
      const expected = await here.encodeTexts(texts, addSpecialTokens, caller);
      expect(await there.encodeTexts(texts, addSpecialTokens, caller)).toEqual(expected);
    }
    const messages = Array.from({ length: 200 }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `message ${index}`,
    }));
    const chat = await there.encodeChat(messages, OPTIONS, caller);
    expect(chat).toEqual(await here.encodeChat(messages, OPTIONS, caller));
    expect(chat.text).toContain('message 199');
  });

  it('fail by the template as on the main thread', async () => {
    const messages = [{ role: 'user', content: [{ type: 'image', text: LONG }] }];
    const refusal = async (threads: PromptThreads | null) => {
      const error: unknown = await encoderOver(threads)
        .encoder.encodeChat(messages, OPTIONS, caller)
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ChatTemplateError);
      return String(error);
    };
    expect(await refusal(one)).toBe(await refusal(null));
  });

  it('are not waited for by aborted requests, and are not made if none has begun', async () => {
    const controller = new AbortController();
    const before = one.run(long(), never);
    const aborted = one.run(long(), controller.signal);
    const after = one.run(long('behind'), never);
    const reason = new Error('gone');
    controller.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    expect((await before)[0]?.text).toBe(LONG);
    expect((await after)[0]?.text).toBe('behind');
    await expect(one.run(long(), controller.signal)).rejects.toBe(reason);
  });

  it('fail with their thread, alone', async () => {
    const folder = join(await temporaryDirectory(), 'model');
    const threads = new PromptThreads({ ...SOURCE, folder }, 1);
    const first = threads.run(long(), never);
    const second = threads.run(long('next'), never);
    // The first thread found nothing to load, and ended.
    await expect(first).rejects.toThrow(/tokenizer\.json is missing/);
    symlinkSync(resolve(SOURCE.folder), folder);
    expect((await second)[0]?.text).toBe('next');
    threads.close();
  });

  it('fail when the pool closes', async () => {
    const threads = new PromptThreads(SOURCE, 1);
    const jobs = [threads.run(long(), never), threads.run(long(), never)];
    threads.close();
    for (const job of jobs) await expect(job).rejects.toBeInstanceOf(PromptThreadError);
  });
});

describe('the prompt encoder', () => {
  it('keeps short prompts on the main thread', async () => {
    const threads = heldThreads();
    const { encoder } = encoderOver(threads);
    const [tokenIds] = await encoder.encodeTexts(['hello'], true, caller);
    expect(tokenIds).toEqual(model.tokenizer.encode('hello', { addSpecialTokens: true }));
    expect(threads.answers).toHaveLength(0);
  });

  it('counts requests as waiting while their prompts are made', async () => {
    const threads = heldThreads();
    const { admission, encoder } = encoderOver(threads, 1);
    const encode = () => encoder.encodeTexts([LONG], true, caller);
    const made = [encode(), encode()];
    expect(admission.waiting).toBe(2);
    await expect(encode()).rejects.toBeInstanceOf(QueueFullError);
    expect(threads.answers).toHaveLength(2);
    for (const answer of threads.answers) answer([{ text: '', tokenIds: new Int32Array(3) }]);
    await Promise.all(made);
    expect(admission.waiting).toBe(0);
    await expect(admission.acquire(never, { numPromptTokens: 3 })).resolves.toBeTypeOf('function');
  });
});

describe('the length of a job', () => {
  const short = { role: 'user', content: 'hi' };
  const chat = (messages: (typeof short)[]): PromptJob => ({
    type: 'chat',
    messages,
    options: OPTIONS,
  });

  it.each([
    ['one long text', long('x'.repeat(1001)), true],
    ['one short text', long('x'.repeat(100)), false],
    ['many short texts', { ...long(), texts: Array.from({ length: 40 }, () => 'hi') }, true],
    ['many short messages', chat(Array.from({ length: 40 }, () => short)), true],
    ['one short message', chat([short]), false],
    ['a long message', chat([{ ...short, content: 'x'.repeat(1001) }]), true],
    ['long tools', { ...chat([short]), options: { ...OPTIONS, tools: ['x'.repeat(999)] } }, true],
  ] as const)('%s', (_, job, expected) => {
    expect(isLongerThan(1000, job)).toBe(expected);
  });
});
