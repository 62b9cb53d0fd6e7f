import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { QueueFullError } from '../../../src/front/queue/admission.ts';
import {
  GrammarChecker,
  type GrammarCheckerOptions,
} from '../../../src/front/grammars/grammar-checker.ts';
import type { GrammarForm } from '../../../src/grammar/grammar-source.ts';
import { LIMITS } from '../../../src/limits.ts';
import { VOCABULARY } from '../../support/grammar-vocabulary.ts';

let checkers: GrammarChecker[] = [];
afterEach(() => {
  for (const checker of checkers) checker.close();
  checkers = [];
});

/** Checks grammars under names, and tells the order in which they were done. */
function open(options: Partial<GrammarCheckerOptions> = {}) {
  // No test waits for the deadline.
  const checker = new GrammarChecker({ vocabulary: VOCABULARY, timeoutMs: 3_600_000, ...options });
  checkers.push(checker);
  const done: string[] = [];
  const check = async (
    name: string,
    client: string,
    form: GrammarForm,
    signal = new AbortController().signal,
  ): Promise<string> => {
    const source = { form, field: name };
    const outcome = checker.check(source, { client, signal }).then(
      () => 'passed',
      (error: unknown) => String(error),
    );
    const text = await outcome;
    done.push(name);
    return text;
  };
  return { checker, done, check };
}

/** Never done within the time of these tests: it takes minutes. */
const slow = (index: number): GrammarForm => ({
  kind: 'ebnf',
  ebnf: `root ::= "${index}" ${'("a" | "b"){1,300} '.repeat(200)}`,
});
const simple: GrammarForm = { kind: 'json_object' };

describe('the grammar pool', () => {
  it.each([
    ['another client', 'a'],
    ['the same client, where there are no keys', 'b'],
  ])('lets a simple grammar of %s pass before slow ones', async (_, client) => {
    const { checker, done, check } = open();
    const slowOnes = [1, 2, 3].map((index) => check(`slow ${index}`, 'b', slow(index)));
    // All have begun, and one goes on.
    await sleep(1500);
    expect(await check('simple', client, simple)).toBe('passed');
    expect(done).toEqual(['simple']);
    checker.close();
    await Promise.all(slowOnes);
  });

  it('gives clients turns', async () => {
    const { done, check } = open({ size: 1, sliceMs: 10_000 });
    const many = [1, 2, 3].map((index) =>
      check(`b${index}`, 'b', { kind: 'choice', choices: [`${index}`] }),
    );
    await Promise.all([...many, check('a', 'a', simple)]);
    expect(done.indexOf('a')).toBeLessThan(done.indexOf('b3'));
  });

  it('ends a slow grammar whose client is gone, and drops what waits', async () => {
    const { check } = open({ size: 1 });
    const client = new AbortController();
    const gone = [1, 2].map((index) => check('slow', 'b', slow(index), client.signal));
    await sleep(1000);
    client.abort(new Error('gone'));
    expect(await Promise.all(gone)).toEqual(['Error: gone', 'Error: gone']);
    expect(await check('simple', 'b', simple)).toBe('passed');
  });

  it('keeps what one caller left and another waits for', async () => {
    const { check } = open();
    const leaving = new AbortController();
    const [left, stays] = [check('same', 'a', simple, leaving.signal), check('same', 'a', simple)];
    leaving.abort(new Error('gone'));
    expect([await left, await stays]).toEqual(['Error: gone', 'passed']);
  });

  it('tells a slow grammar from others', async () => {
    const { checker } = open({ sliceMs: 1 });
    const source = { form: { kind: 'regex', pattern: '([a-z]{1,80}x?){20}' }, field: 'x' } as const;
    const { signal } = new AbortController();
    expect(await checker.check(source, { client: 'a', signal })).toMatchObject({ owner: 'a slow' });
  });

  it('refuses more of a client than may wait, and still takes those of others', async () => {
    const { checker, check } = open();
    const flood = Array.from({ length: LIMITS.grammarsWaitingPerClient + 10 }, (_, index) => {
      const { signal } = new AbortController();
      return checker.check({ form: slow(index), field: 'slow' }, { client: 'b', signal });
    });
    const outcomes = Promise.allSettled(flood);
    expect(await check('simple', 'a', simple)).toBe('passed');
    checker.close();
    const reasons = (await outcomes).map((result) => 'reason' in result && result.reason);
    const refused = reasons.filter((reason) => reason instanceof QueueFullError);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(10);
  });

  it('survives a source that is no plain data', async () => {
    const { checker, check } = open({ size: 1 });
    const form = { kind: 'json_schema', schema: { default: () => 1 } } as const;
    const { signal } = new AbortController();
    await expect(checker.check({ form, field: 'x' }, { client: '', signal })).rejects.toThrow(
      'could not be cloned',
    );
    expect(await check('simple', '', simple)).toBe('passed');
  });
});
