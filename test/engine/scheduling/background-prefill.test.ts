/** Prompts that nobody waits for. */
import { describe, expect, it } from 'vitest';
import { PUBLIC_SALT } from '../../../src/engine/request.ts';
import { ScheduledRun } from '../../support/scheduled-run.ts';

const text = (length: number, first = 0) => Int32Array.from({ length }, (_, at) => first + at);

/** Steps until there is nothing left to do. */
function finish(run: ScheduledRun): void {
  for (let step = 0; run.scheduler.hasWork; step++) {
    if (step === 1000) throw new Error('there is no end to it');
    run.step();
  }
}

function runWith(fields: ConstructorParameters<typeof ScheduledRun>[0] = {}) {
  return new ScheduledRun({ prefixCaching: true, maxNumBatchedTokens: 32, ...fields });
}

const prefetch = { background: 'prefetch', maxTokens: 1 } as const;

describe('a prompt that is computed ahead', () => {
  it('is computed while there is nothing else to do, and found', () => {
    const run = runWith();
    run.add(1, 0, { ...prefetch, promptTokenIds: text(100) });
    expect(run.running).toEqual([]);
    finish(run);
    run.add(2, 0, { promptTokenIds: text(103) });
    expect(run.step()).toEqual({ 2: 'tokens 100 to 102' });
  });

  it('holds nothing as soon as there is a request, and goes on from there when it has ended', () => {
    const run = runWith();
    run.add(1, 0, { ...prefetch, promptTokenIds: text(100) });
    run.step();
    run.add(2, 4, { maxTokens: 3 });
    for (let step = 0; step < 3; step++) {
      expect(Object.keys(run.step())).toEqual(['2']);
    }
    const [first] = Object.values(run.step());
    expect(first).toMatch(/^tokens (?!0 )\d+ to/);
  });

  it('takes no slot and no memory from requests', () => {
    const alone = new ScheduledRun({ maxNumSeqs: 2, maxPages: 8, prefixCaching: true });
    const beside = new ScheduledRun({ maxNumSeqs: 2, maxPages: 8, prefixCaching: true });
    beside.add(9, 0, { ...prefetch, promptTokenIds: text(64, 900) });
    beside.step();
    for (const run of [alone, beside]) for (const id of [1, 2]) run.add(id, 40, { maxTokens: 5 });
    for (let step = 0; step < 5; step++) expect(beside.step()).toEqual(alone.step());
  });

  it('ends when it is aborted, running or waiting', () => {
    const run = runWith();
    for (const id of [1, 2]) run.add(id, 0, { ...prefetch, promptTokenIds: text(100, id * 1000) });
    run.step();
    run.scheduler.abort(2);
    run.scheduler.abort(1);
    expect(run.scheduler.hasWork).toBe(false);
    expect(run.kvCache.usage).toBe(0);
  });
});

describe('a prompt that is pinned', () => {
  const pin = { background: 'pin', maxTokens: 1, cacheSalt: PUBLIC_SALT } as const;

  it('is found by all, and stays after those have gone on with it', () => {
    const run = runWith({ maxNumSeqs: 2 });
    run.add(1, 0, { ...pin, promptTokenIds: text(48) });
    finish(run);
    for (const [index, cacheSalt] of ['a', 'b', 'a', 'c'].entries()) {
      const id = index + 2;
      const promptTokenIds = Int32Array.of(...text(48), ...text(20, id * 100));
      run.add(id, 0, { promptTokenIds, cacheSalt, maxTokens: 2 });
      run.step();
      expect(run.outputs[0]).toMatchObject({ id, numCachedTokens: 48 });
      finish(run);
    }
  });

  it('outlives texts that were used later', () => {
    const run = runWith({ maxNumSeqs: 2 });
    run.add(1, 0, { ...pin, promptTokenIds: text(48) });
    finish(run);
    for (let id = 2; id < 20; id++) {
      run.add(id, 60, { maxTokens: 2 });
      finish(run);
    }
    run.add(20, 0, { promptTokenIds: text(50) });
    expect(run.step()).toEqual({ 20: 'tokens 48 to 49' });
  });

  it('gives way to requests that need its memory', () => {
    const run = runWith({ maxNumSeqs: 2, maxPages: 6 });
    run.add(1, 0, { ...pin, promptTokenIds: text(48) });
    finish(run);
    run.add(2, 90, { maxTokens: 2 });
    finish(run);
    expect(run.outputs).toMatchObject([{ id: 2, finishReason: 'length' }]);
  });

  it('is there once, however often it is asked for', () => {
    const run = runWith({ maxNumSeqs: 2 });
    for (let id = 1; id < 5; id++) {
      run.add(id, 0, { ...pin, promptTokenIds: text(48) });
      finish(run);
    }
    const kept = Array.from({ length: 4 }, (_, slot) => run.kvCache.cachedTokenIds(slot));
    expect(kept.filter((tokenIds) => tokenIds !== null)).toEqual([text(48)]);
  });
});

describe('what follows a text that everybody finds', () => {
  it('is found by its own client alone', () => {
    const run = runWith();
    run.add(1, 0, {
      promptTokenIds: text(48),
      background: 'pin',
      cacheSalt: PUBLIC_SALT,
      maxTokens: 1,
    });
    finish(run);
    const cachedOf = (id: number, cacheSalt: string): unknown => {
      run.add(id, 0, { promptTokenIds: text(100), cacheSalt, maxTokens: 1 });
      const outputs: unknown[] = [];
      while (run.scheduler.hasWork) {
        run.step();
        outputs.push(...run.outputs);
      }
      return outputs[0];
    };
    expect(cachedOf(2, 'a')).toMatchObject({ numCachedTokens: 48 });
    expect(cachedOf(3, 'b')).toMatchObject({ numCachedTokens: 48 });
    expect(cachedOf(4, 'a')).toMatchObject({ numCachedTokens: 96 });
  });
});
