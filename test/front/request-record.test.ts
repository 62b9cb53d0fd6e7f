import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RequestRecord } from '../../src/front/request-record.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  vi.advanceTimersByTime(1000);
});
afterEach(() => {
  vi.useRealTimers();
});

/** A request that began at 1000. */
function recorded(): RequestRecord {
  const record = new RequestRecord();
  record.received(1002);
  record.tokenized(1003, 1004);
  record.tokenized(1005, 1005.5);
  record.queued(1006);
  record.admitted(1016);
  record.tokens(1, 1046);
  record.tokens(2, 1056);
  return record;
}

test('each stage has its time, and the header says those that are over', () => {
  const record = recorded();
  expect(record.serverTiming).toMatch(
    /^receive;dur=2\.00, tokenize;dur=1\.50, queue;dur=10\.00, prefill;dur=30\.00, total;dur=0\.00$/,
  );
  record.finished('stop', 1146, 3);
  record.drained(5);
  record.ended(1150);
  expect(record.spans).toEqual([
    { stage: 'receive', startedAt: 1000, ms: 2 },
    { stage: 'tokenize', startedAt: 1003, ms: 1.5 },
    { stage: 'queue', startedAt: 1006, ms: 10 },
    { stage: 'prefill', startedAt: 1016, ms: 30 },
    { stage: 'decode', startedAt: 1046, ms: 100 },
    { stage: 'detokenize', startedAt: 1046, ms: 3 },
    { stage: 'send', startedAt: 1146, ms: 9 },
  ]);
  expect(record.totalMs).toBe(150);
  expect(record.firstTokenMs).toBe(46);
});

test('of several sequences the first begins each stage, and the last ends it', () => {
  const record = recorded();
  record.queued(1007);
  record.admitted(1040);
  record.tokens(1, 1060);
  record.finished('stop', 1100, 1);
  record.finished('length', 1300, 2);
  expect(record.msOf('queue')).toBe(10);
  expect(record.msOf('prefill')).toBe(30);
  expect(record.msOf('decode')).toBe(254);
  expect(record.msOf('detokenize')).toBe(3);
  expect([...record.finishReasons]).toEqual(['stop', 'length']);
});

test('a request that ends early has the time until its end, and no further stages', () => {
  const waiting = new RequestRecord();
  waiting.queued(1006);
  expect(waiting.state).toBe('waiting');
  waiting.finished('abort', 1106, 0);
  expect(waiting.spans).toEqual([{ stage: 'queue', startedAt: 1006, ms: 100 }]);

  const computing = new RequestRecord();
  computing.queued(1006);
  computing.admitted(1007);
  expect(computing.state).toBe('prefill');
  computing.finished('abort', 1107, 0);
  expect(computing.spans.map(({ stage, ms }) => [stage, ms])).toEqual([
    ['queue', 1],
    ['prefill', 100],
  ]);
  expect(computing.firstTokenMs).toBeNull();
});
