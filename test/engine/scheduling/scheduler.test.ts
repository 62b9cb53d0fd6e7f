import { describe, expect, it } from 'vitest';
import { type Drafter, withDraft } from '../../../src/engine/drafter.ts';
import { NEXT_TOKEN, ScheduledRun } from '../../support/scheduled-run.ts';

describe('admission', () => {
  it('gives slots in order of arrival, and the next one as soon as a sequence ends', () => {
    const run = new ScheduledRun({ maxNumSeqs: 2 });
    run.add(1, 4, { maxTokens: 2 });
    run.add(2, 4);
    run.add(3, 4);
    expect(run.step()).toEqual({ 1: 'tokens 0 to 3', 2: 'tokens 0 to 3' });
    expect(run.step()).toEqual({ 1: 'token 4', 2: 'token 4' });
    expect([run.running, run.waiting]).toEqual([[2], [3]]);
    expect(run.step()).toMatchObject({ 2: 'token 5', 3: expect.stringMatching('^tokens 0 to') });
  });

  it('runs so many adapters at once; others wait, and are overtaken', () => {
    const run = new ScheduledRun({ maxNumSeqs: 8, maxAdapters: 2 });
    const adapter = (id: string) => ({ adapter: { id, path: id, scale: 1 } });
    run.add(1, 4, adapter('a'));
    run.add(2, 4, { ...adapter('b'), maxTokens: 1 });
    run.add(3, 4, adapter('c'));
    run.add(4, 4, adapter('a'));
    run.add(5, 4);
    run.step();
    expect([run.running, run.waiting]).toEqual([[1, 4, 5], [3]]);
    run.step();
    expect([run.running, run.waiting]).toEqual([[1, 3, 4, 5], []]);
  });

  it('leaves every running sequence a page to grow into', () => {
    // 4 pages of 16 positions; a prompt of 30 tokens takes two.
    const run = new ScheduledRun({ maxPages: 4 });
    run.add(1, 30);
    run.add(2, 30);
    run.step();
    expect([run.running, run.waiting]).toEqual([[1], [2]]);
  });

  it('begins after the prefix that an earlier sequence left', () => {
    const run = new ScheduledRun({ prefixCaching: true });
    const promptTokenIds = Int32Array.from({ length: 40 }, (_, index) => index);
    run.add(1, 0, { promptTokenIds, maxTokens: 1 });
    run.step();
    run.add(2, 0, { promptTokenIds: Int32Array.of(...promptTokenIds, 90, 91) });
    expect(run.step()).toEqual({ 2: 'tokens 40 to 41' });
  });

  /** Number told of the prompt's tokens in the cache, where another began with so many of them. */
  function cachedOf(numShared: number, salts: readonly [string, string] = ['', '']) {
    const run = new ScheduledRun({ prefixCaching: true });
    for (const [index, cacheSalt] of salts.entries()) {
      const promptTokenIds = new Int32Array(100).fill(7).fill(index + 10, numShared);
      run.add(index + 1, 0, { promptTokenIds, cacheSalt, maxTokens: 1 });
      run.step();
    }
    const counted = run.scheduler.counters.prefixCacheHits;
    return { told: run.outputs[0]?.numCachedTokens, counted };
  }

  it.each([
    [15, 0],
    [16, 16],
    [17, 16],
    [31, 16],
    [32, 32],
    [99, 96],
  ])('of %d tokens found in the cache tells %d: whole blocks', (numShared, told) => {
    expect(cachedOf(numShared)).toEqual({ told, counted: told });
  });

  it.each([
    ['nothing kept begins so', 8, 100, { absent: 100, changed: 0, fresh: 0 }],
    ['the same again', 100, 100, { absent: 0, changed: 0, fresh: 4 }],
    ['the beginning of it', 60, 60, { absent: 0, changed: 0, fresh: 12 }],
    ['all of it and more', 100, 140, { absent: 0, changed: 0, fresh: 44 }],
    ['another text after 64 tokens', 64, 100, { absent: 0, changed: 35, fresh: 1 }],
    ['another text after 64 tokens, and more', 64, 140, { absent: 0, changed: 36, fresh: 40 }],
  ])('says why tokens were not found: %s', (_what, numShared, length, expected) => {
    const run = new ScheduledRun({ prefixCaching: true });
    run.add(1, 0, { promptTokenIds: new Int32Array(100).fill(7), maxTokens: 1 });
    run.step();
    const before = run.scheduler.counters;
    const first = { absent: before.prefixCacheAbsent, queries: before.prefixCacheQueries };
    expect(first).toEqual({ absent: 100, queries: 100 });
    const promptTokenIds = new Int32Array(length).fill(7).fill(9, numShared);
    run.add(2, 0, { promptTokenIds, maxTokens: 1 });
    run.step();
    const after = run.scheduler.counters;
    const absent = after.prefixCacheAbsent - first.absent;
    const changed = after.prefixCacheChanged;
    const missed = after.prefixCacheQueries - first.queries - after.prefixCacheHits;
    expect({ absent, changed, fresh: missed - absent - changed }).toEqual(expected);
  });

  it('finds nothing in the cache under another salt', () => {
    expect(cachedOf(99, ['["a",""]', '["b",""]'])).toEqual({ told: 0, counted: 0 });
  });
});

describe('priority', () => {
  it('goes before arrival: lower first, as in vLLM', () => {
    const run = new ScheduledRun({ maxNumSeqs: 1 });
    run.add(1, 4, { maxTokens: 1 });
    run.add(2, 4, { maxTokens: 1, priority: 1 });
    run.add(3, 4, { maxTokens: 1, priority: -1 });
    const order = [run.step(), run.step(), run.step()].flatMap((computed) => Object.keys(computed));
    expect(order).toEqual(['3', '1', '2']);
  });

  it('is made up for by a minute of waiting', () => {
    const run = new ScheduledRun({ maxNumSeqs: 1 });
    run.add(1, 4, { priority: 1, arrivalMs: 0 });
    run.add(2, 4, { priority: 0, arrivalMs: 59_000 });
    run.add(3, 4, { priority: 0, arrivalMs: 61_000 });
    run.step();
    expect([run.running, run.waiting]).toEqual([[2], [1, 3]]);
  });
});

describe('chunking', () => {
  it('computes a long prompt in steps of as many tokens as the budget has', () => {
    const run = new ScheduledRun({ maxNumBatchedTokens: 40 });
    run.add(1, 100);
    expect([run.step(), run.step(), run.step(), run.step()]).toEqual([
      { 1: 'tokens 0 to 39' },
      { 1: 'tokens 40 to 79' },
      { 1: 'tokens 80 to 99' },
      { 1: 'token 100' },
    ]);
  });

  it('takes what a token for each decoding sequence leaves of the budget', () => {
    const run = new ScheduledRun({ maxNumBatchedTokens: 10, targetItlMs: 1e6 });
    run.add(1, 4);
    run.add(2, 4);
    run.step();
    run.add(3, 12);
    expect(run.step()).toEqual({ 1: 'token 4', 2: 'token 4', 3: 'tokens 0 to 7' });
    expect(run.step()).toEqual({ 1: 'token 5', 2: 'token 5', 3: 'tokens 8 to 11' });
    expect(run.step()).toEqual({ 1: 'token 6', 2: 'token 6', 3: 'token 12' });
  });

  it('goes on in small chunks where it would hold up those that decode', () => {
    const run = new ScheduledRun();
    run.add(1, 4);
    run.step();
    run.add(2, 400);
    expect(run.step()).toEqual({ 1: 'token 4', 2: 'tokens 0 to 1' });
    expect(run.step()).toEqual({ 1: 'token 5', 2: 'tokens 2 to 3' });
  });

  /** Prompt tokens that one step computes with one decoding sequence and so many long prompts. */
  function prefillWith(numPrompts: number): number {
    // One long prompt takes up the budget: the others wait though there are slots.
    const run = new ScheduledRun({ maxNumSeqs: 32 });
    run.add(1, 1);
    run.step();
    for (let id = 2; id < 2 + numPrompts; id++) run.add(id, 600);
    run.step();
    expect(run.running).toHaveLength(2);
    return run.scheduler.running[1]?.numComputedTokens ?? 0;
  }

  it('makes haste when prompts wait that could have a slot', () => {
    expect(prefillWith(20)).toBeGreaterThan(2 * prefillWith(1));
  });
});

describe('preemption', () => {
  it('takes the slot of the last in order, which computes all its tokens again later', () => {
    // Each fills a page of 16 positions. At the 17th there is memory for one of them.
    const run = new ScheduledRun({ maxPages: 3 });
    run.add(1, 15, { maxTokens: 4 });
    run.add(2, 15);
    run.step();
    expect(run.step()).toEqual({ 1: 'token 15', 2: 'token 15' });
    expect(run.step()).toEqual({ 1: 'token 16' });
    expect([run.running, run.waiting]).toEqual([[1], [2]]);
    expect(run.step()).toEqual({ 1: 'token 17' });
    // The first one has ended. The other has its prompt and two tokens of its answer.
    expect(run.step()).toEqual({ 2: 'tokens 0 to 16' });
    expect(run.scheduler.counters.numPreemptions).toBe(1);
  });

  it('takes the slot of the lowest priority, also from one that came first', () => {
    const run = new ScheduledRun({ maxPages: 3 });
    run.add(1, 15, { priority: 1 });
    run.add(2, 15, { priority: 0 });
    run.step();
    run.step();
    expect(run.step()).toEqual({ 2: 'token 16' });
    expect([run.running, run.waiting]).toEqual([[2], [1]]);
  });
});

describe('overtaking', () => {
  it('lets what fits go first, 32 times', () => {
    // The first sequence holds some of 12 pages, and the second asks for all of them.
    const run = new ScheduledRun({ maxPages: 12 });
    run.add(1, 4);
    run.step();
    run.add(2, 180);
    for (let id = 3; id < 50; id++) run.add(id, 4, { maxTokens: 1 });
    const overtook: number[] = [];
    for (let step = 0; step < 80; step++) {
      run.step();
      overtook.push(...run.outputs.map(({ id }) => id).filter((id) => id > 2));
    }
    expect(overtook.slice(0, 2)).toEqual([3, 4]);
    expect(overtook.length).toBeGreaterThanOrEqual(32);
    expect(overtook.length).toBeLessThan(32 + 4);
    expect(run.waiting[0]).toBe(2);
  });
});

describe('drafts', () => {
  /** Always guesses the same three tokens. */
  function drafterOf(...tokenIds: number[]) {
    const counted: number[] = [];
    const drafter: Drafter = {
      draft: (decode, isAlone) =>
        isAlone ? decode.map((one) => withDraft(one, Int32Array.from(tokenIds))) : decode,
      count: (_, numAccepted) => void counted.push(numAccepted),
    };
    return { drafter, counted };
  }

  it('move a sequence on by each token that came true, and one more', () => {
    const { drafter, counted } = drafterOf(NEXT_TOKEN, NEXT_TOKEN, 99);
    const run = new ScheduledRun({ drafter });
    run.add(1, 4);
    run.step();
    const sampled = [NEXT_TOKEN, NEXT_TOKEN, NEXT_TOKEN];
    expect(run.step(() => sampled)).toEqual({ 1: 'token 4 and 3 drafted' });
    expect(run.outputs.map(({ tokenId }) => tokenId)).toEqual(sampled);
    expect(counted).toEqual([2]);
    // The third guess was wrong: what was drawn in its place is computed next.
    expect(run.step()).toEqual({ 1: 'token 7 and 3 drafted' });
  });

  it('end with the sequence', () => {
    const { drafter } = drafterOf(1, 2, 3);
    const run = new ScheduledRun({ drafter });
    run.add(1, 4, { maxTokens: 3 });
    run.step();
    run.step(() => [1, 2]);
    expect(run.outputs.map(({ finishReason }) => finishReason)).toEqual([null, 'length']);
    expect([run.running, run.kvCache.usage]).toEqual([[], 0]);
  });

  it('are not made while a prompt is computed', () => {
    const { drafter } = drafterOf(1, 2, 3);
    const run = new ScheduledRun({ drafter });
    run.add(1, 4);
    run.step();
    run.add(2, 100);
    expect(run.step()).toEqual({ 1: 'token 4', 2: 'tokens 0 to 1' });
  });
});

describe('a sequence that samples nothing', () => {
  it('computes its last token once more', () => {
    const run = new ScheduledRun();
    run.add(1, 4);
    run.step();
    const plan = run.scheduler.plan();
    if (!plan) throw new Error('there is nothing to do');
    expect(run.scheduler.commit(plan, { sampled: [], failures: [] })).toEqual([]);
    expect(run.step()).toEqual({ 1: 'token 4' });
  });

  it('ends alone when its run has failed', () => {
    const run = new ScheduledRun();
    run.add(1, 4);
    run.add(2, 4);
    const plan = run.scheduler.plan();
    if (!plan) throw new Error('there is nothing to do');
    const [first, second] = plan.segments;
    if (!first || !second) throw new Error('two sequences were to run');
    const outputs = run.scheduler.commit(plan, {
      sampled: [{ segment: second, tokens: [{ tokenId: NEXT_TOKEN }] }],
      failures: [{ sequence: first.sequence, message: 'no' }],
    });
    expect(outputs.map(({ id, finishReason }) => ({ id, finishReason }))).toEqual([
      { id: 2, finishReason: null },
      { id: 1, finishReason: 'error' },
    ]);
    expect(run.running).toEqual([2]);
  });
});
