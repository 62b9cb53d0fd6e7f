import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RequestRecord } from '../../../src/front/request-record.ts';
import { OPTIONS, pass, startBatcher } from './support/batcher.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const { queue } = OPTIONS;

describe('without a delay', () => {
  it('runs at once what is there, and together what comes meanwhile', async () => {
    const { submit, ran, answers } = startBatcher();
    submit('a');
    await pass(1);
    for (const input of ['b', 'c', 'd', 'e', 'f']) submit(input);
    await pass(100);
    expect(ran).toEqual([
      { at: 0, inputs: ['a'] },
      { at: 10, inputs: ['b', 'c', 'd', 'e'] },
      { at: 20, inputs: ['f'] },
    ]);
    expect(answers.get('f')).toEqual({ answer: 'F', at: 30 });
  });

  it('takes the largest preferred size that there is, and all where there is none', async () => {
    const { submit, ran } = startBatcher({ maxBatchSize: 8, preferredBatchSizes: [2, 4] });
    for (const input of 'abcdefg') submit(input);
    await pass(100);
    expect(ran.map(({ inputs }) => inputs.join(''))).toEqual(['abcd', 'ef', 'g']);
  });

  it('runs as many batches at once as there are instances', async () => {
    const { submit, ran } = startBatcher({ instances: 2 });
    for (const input of 'abcdefghij') submit(input);
    await pass(100);
    expect(ran.map(({ at }) => at)).toEqual([0, 0, 10]);
  });
});

describe('with a delay', () => {
  const delay = { maxQueueDelayMs: 5 };

  it('waits for a full batch, and no longer than that', async () => {
    const { submit, ran } = startBatcher(delay);
    submit('a');
    await pass(2);
    for (const input of 'bcd') submit(input);
    await pass(20);
    submit('e');
    await pass(100);
    expect(ran).toEqual([
      { at: 2, inputs: ['a', 'b', 'c', 'd'] },
      { at: 27, inputs: ['e'] },
    ]);
  });

  it('runs a preferred size at once', async () => {
    const { submit, ran } = startBatcher({ ...delay, preferredBatchSizes: [2] });
    for (const input of 'abc') submit(input);
    await pass(100);
    expect(ran.map(({ inputs }) => inputs.join(''))).toEqual(['ab', 'c']);
  });

  it('takes more than a preferred size where the first has waited for long enough', async () => {
    const { submit, ran } = startBatcher({ ...delay, preferredBatchSizes: [2] }, 20);
    submit('a');
    submit('b');
    await pass(1);
    for (const input of 'cde') submit(input);
    await pass(100);
    expect(ran.map(({ inputs }) => inputs.join(''))).toEqual(['ab', 'cde']);
  });

  it('runs what is there when the next has another shape, or is too large to join', async () => {
    const { submit, ran } = startBatcher(delay);
    submit('a', { shape: '3' });
    submit('b', { shape: '4' });
    submit('c', { shape: '4', rows: 3 });
    submit('d', { shape: '4' });
    await pass(100);
    expect(ran).toEqual([
      { at: 0, inputs: ['a'] },
      { at: 10, inputs: ['b', 'c'] },
      { at: 20, inputs: ['d'] },
    ]);
  });
});

describe('by tokens', () => {
  it('puts texts of like length together, and the first in line always', async () => {
    const { submit, ran } = startBatcher({ maxBatchSize: 8, maxBatchTokens: 400 });
    const lengths = { a: 100, b: 10, c: 95, d: 11, e: 90, f: 9, g: 300 };
    for (const [input, tokens] of Object.entries(lengths)) submit(input, { tokens });
    await pass(100);
    expect(ran.map(({ inputs }) => inputs.join(''))).toEqual(['ace', 'bdf', 'g']);
  });

  it('waits no longer than the delay for any of them', async () => {
    const { submit, ran } = startBatcher({ maxBatchTokens: 400, maxQueueDelayMs: 5 });
    submit('a', { tokens: 10, priority: 1 });
    await pass(2);
    submit('b', { tokens: 100 });
    await pass(100);
    expect(ran).toEqual([
      { at: 5, inputs: ['b'] },
      { at: 15, inputs: ['a'] },
    ]);
  });

  it('keeps to its budget, but for a text that is longer by itself', async () => {
    const { submit, ran } = startBatcher({ maxBatchSize: 8, maxBatchTokens: 100 });
    for (const input of 'abcd') submit(input, { tokens: 40 });
    submit('e', { tokens: 500 });
    await pass(100);
    expect(ran.map(({ inputs }) => inputs.join(''))).toEqual(['ab', 'cd', 'e']);
  });
});

describe('the order', () => {
  it('is that of priorities, lower ones first', async () => {
    const { submit, ran } = startBatcher({ maxBatchSize: 1 });
    submit('a', { priority: 2 });
    submit('b', { priority: 1 });
    submit('c', { priority: 2 });
    submit('d', { priority: 0 });
    await pass(100);
    expect(ran.flatMap(({ inputs }) => inputs)).toEqual(['d', 'b', 'a', 'c']);
  });

  it('has clients take turns', async () => {
    const { submit, ran } = startBatcher({ maxBatchSize: 2 });
    for (const input of ['a1', 'a2', 'a3', 'a4']) submit(input, {}, { client: 'a' });
    for (const input of ['b1', 'b2']) submit(input, {}, { client: 'b' });
    await pass(100);
    expect(ran.map(({ inputs }) => inputs)).toEqual([
      ['a1', 'b1'],
      ['a2', 'b2'],
      ['a3', 'a4'],
    ]);
  });

  it('of answers is that of requests if it is to be preserved', async () => {
    const { submit, answers } = startBatcher({ maxBatchSize: 1, preserveOrdering: true });
    submit('a', { priority: 1 });
    submit('b', { priority: 0 });
    await pass(100);
    expect(answers.get('a')?.at).toBe(20);
    expect(answers.get('b')?.at).toBe(20);
  });
});

describe('a request that waits', () => {
  it('is not run if its caller leaves', async () => {
    const { submit, ran, answers, batcher } = startBatcher();
    const caller = new AbortController();
    submit('a');
    await pass(1);
    submit('b', {}, { client: '', signal: caller.signal });
    submit('c');
    await pass(1);
    caller.abort(new Error('gone'));
    await pass(100);
    expect(answers.get('b')).toEqual({ answer: 'gone', at: 2 });
    expect(ran.map(({ inputs }) => inputs.join(''))).toEqual(['a', 'c']);
    expect(batcher.stats).toMatchObject({ numCancelled: 1, numSucceeded: 2, numWaiting: 0 });
  });

  it('has many others of its caller beside it', async () => {
    const { batcher, ran } = startBatcher();
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on('warning', warn);
    const caller = new AbortController();
    const request = { input: 'a', rows: 1, tokens: 0, bytes: 1, shape: '' };
    const requests = Array.from({ length: 1000 }, () => request);
    const answer = batcher
      .submit(requests, { client: '', signal: caller.signal })
      .catch((error: Error) => error.message);
    await pass(5);
    caller.abort(new Error('gone'));
    await pass(100);
    process.off('warning', warn);
    expect(await answer).toBe('gone');
    expect(ran).toHaveLength(1);
    expect(batcher.stats).toMatchObject({ numCancelled: 996, numWaiting: 0 });
    // Node would warn of too many listeners.
    expect(warnings).toEqual([]);
  });

  it('fails after its time, or its own shorter one', async () => {
    const { submit, answers, batcher } = startBatcher(
      { queue: { ...queue, defaultTimeoutMs: 30 } },
      100,
    );
    submit('a');
    await pass(1);
    submit('b');
    submit('c', { timeoutMs: 5 });
    submit('d', { timeoutMs: 500 });
    await pass(200);
    expect(answers.get('c')).toEqual({
      answer: 'the request waited for 5 ms, which is the limit',
      at: 6,
    });
    expect(answers.get('b')?.at).toBe(31);
    expect(answers.get('d')?.at).toBe(31);
    expect(batcher.stats.numTimedOut).toBe(3);
  });

  it('goes after all others of its priority instead, if it is to be delayed', async () => {
    const delayed = { ...queue, defaultTimeoutMs: 5, timeoutAction: 'delay' as const };
    const { submit, ran } = startBatcher({ maxBatchSize: 1, queue: delayed });
    submit('a');
    await pass(1);
    submit('b');
    await pass(6);
    submit('c');
    submit('d', { priority: 1 });
    await pass(100);
    expect(ran.flatMap(({ inputs }) => inputs)).toEqual(['a', 'c', 'b', 'd']);
  });
});

describe('the queue', () => {
  it('takes no more than its bound, and of several requests all or none', async () => {
    const { submit, batcher, answers } = startBatcher({ queue: { ...queue, maxQueue: 2 } });
    submit('a');
    await pass(1);
    submit('b');
    const two = ['c', 'd'].map((input) => ({ input, rows: 1, tokens: 0, bytes: 1, shape: '' }));
    const caller = { client: '', signal: new AbortController().signal };
    await expect(batcher.submit(two, caller)).rejects.toThrow('too many requests are waiting');
    submit('e');
    submit('f');
    await pass(100);
    expect(answers.get('e')?.answer).toBe('E');
    expect(answers.get('f')?.answer).toBe('too many requests are waiting');
    expect(batcher.stats.numRefused).toBe(3);
  });

  it('bounds the bytes that wait', async () => {
    const { submit, answers } = startBatcher({ queue: { ...queue, maxQueueBytes: 10 } });
    submit('a');
    await pass(1);
    submit('b', { bytes: 8 });
    submit('c', { bytes: 8 });
    await pass(100);
    expect(answers.get('b')?.answer).toBe('B');
    expect(answers.get('c')?.answer).toBe('too many requests are waiting');
  });

  it('has room for a client that has nothing in it, whoever filled it', async () => {
    const { submit, answers } = startBatcher({
      queue: { ...queue, maxQueue: 6 },
      isShared: () => true,
    });
    submit('first', {}, { client: 'a' });
    await pass(1);
    const inputs = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const input of inputs) submit(input, {}, { client: 'a' });
    submit('g', {}, { client: 'b' });
    await pass(100);
    const refused = inputs.filter((input) => answers.get(input)?.answer?.startsWith('too'));
    expect(refused).toEqual(['e', 'f']);
    expect(answers.get('g')?.answer).toBe('G');
  });
});

describe('failures', () => {
  it('are those of single requests', async () => {
    const { submit, answers } = startBatcher();
    submit('bad');
    submit('good');
    await pass(100);
    expect(answers.get('bad')?.answer).toBe('bad failed');
    expect(answers.get('good')?.answer).toBe('GOOD');
  });

  it('of one of several requests of a caller end the others that wait', async () => {
    const { batcher, ran } = startBatcher({ maxBatchSize: 1 });
    const inputs = ['a', 'bad', 'c', 'd'];
    const requests = inputs.map((input) => ({ input, rows: 1, tokens: 0, bytes: 1, shape: '' }));
    const caller = { client: '', signal: new AbortController().signal };
    const answer = batcher.submit(requests, caller).catch((error: Error) => error.message);
    await pass(100);
    expect(await answer).toBe('bad failed');
    expect(ran.flatMap((each) => each.inputs)).not.toContain('d');
  });

  it('of closing are told', async () => {
    const { batcher, submit, answers } = startBatcher();
    submit('a');
    await pass(1);
    submit('b');
    batcher.close();
    submit('c');
    await pass(1);
    expect(answers.get('c')?.answer).toBe('the server is shutting down');
    batcher.fail(new Error('the model was unloaded'));
    await pass(100);
    expect(answers.get('a')?.answer).toBe('A');
    expect(answers.get('b')?.answer).toBe('the model was unloaded');
  });
});

it('tells a request how long it waited for a batch, and how long that ran', async () => {
  const { batcher, submit } = startBatcher({ maxBatchSize: 2 });
  submit('a');
  await pass(4);
  const record = new RequestRecord();
  const { signal } = new AbortController();
  const request = { rows: 1, tokens: 0, bytes: 1, shape: '' };
  const two = ['b', 'c'].map((input) => ({ ...request, input }));
  const answered = batcher.submit(two, { client: '', signal, record });
  await pass(100);
  await answered;
  expect(record.spans.map(({ stage, ms }) => [stage, ms])).toEqual([
    ['queue', 6],
    ['prefill', 10],
  ]);
  expect([...record.finishReasons]).toEqual(['stop']);

  const failing = new RequestRecord();
  const bad = { ...request, input: 'bad' };
  const failed = batcher.submit([bad], { client: '', signal, record: failing }).catch(String);
  await pass(100);
  expect(await failed).toContain('bad failed');
  expect([...failing.finishReasons]).toEqual(['error']);
});

it('tells a request that waited for too long from one that failed', async () => {
  const limited = { ...queue, defaultTimeoutMs: 5 };
  const { batcher, submit } = startBatcher({ maxBatchSize: 1, queue: limited });
  submit('a');
  const late = new AbortController();
  const records = [new AbortController().signal, late.signal].map((signal) => {
    const record = new RequestRecord();
    const request = { input: 'b', rows: 1, tokens: 0, bytes: 1, shape: '' };
    void batcher.submit([request], { client: '', signal, record }).catch(String);
    return record;
  });
  late.abort(new DOMException('its time is over', 'TimeoutError'));
  await pass(100);
  expect(records.map(({ finishReasons }) => [...finishReasons])).toEqual([
    ['timeout'],
    ['timeout'],
  ]);
});
