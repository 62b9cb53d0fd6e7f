import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { UnreadAnswers } from '../../../src/server/http/unread-answers.ts';

const MIB = 2 ** 20;
/** As large as an answer may be. */
const LARGE = LIMITS.tensorOutputBytes;

let unread: UnreadAnswers;

beforeEach(() => {
  vi.useFakeTimers();
  unread = new UnreadAnswers();
});
afterEach(() => {
  vi.useRealTimers();
});

function hold(client: string, numBytes = LARGE) {
  const connection = { bytesWritten: 0, writableLength: 0 };
  const stream = new Writable();
  unread.hold(client, numBytes, stream, connection);
  return { stream, connection };
}

/** Time passes, in which those that are given are read. */
function read(answers: readonly ReturnType<typeof hold>[], numBytes = MIB): void {
  for (const { connection } of answers) connection.bytesWritten += numBytes;
  vi.advanceTimersByTime(LIMITS.unreadAnswerMs);
}

test('of a client that holds too much, the oldest answer that it does not read is cut', () => {
  const answers = [hold('a'), hold('a')];
  const other = hold('b');
  read(answers.slice(0, 1));
  answers.push(hold('a'));
  expect(answers.map(({ stream }) => stream.destroyed)).toEqual([false, true, false]);
  expect(other.stream.destroyed).toBe(false);
});

test('who reads a few bytes now and then does not read', () => {
  const answers = [hold('a'), hold('a')];
  read(answers, 1);
  hold('a');
  expect(answers.map(({ stream }) => stream.destroyed)).toEqual([true, false]);
});

test('a client that reads all it gets may have more at once, up to half of all', () => {
  const answers = [];
  while (answers.length < LIMITS.unreadAnswerBytes / 2 / LARGE) {
    answers.push(hold('a'));
    read(answers);
  }
  expect(answers.every(({ stream }) => !stream.destroyed)).toBe(true);
  expect(() => hold('a')).toThrow('Too many of your answers wait to be read');
  // Those that are closed count no longer.
  answers[0]?.stream.emit('close');
  hold('a');
});

test('for another client the one with the most is cut, and nobody who reads', () => {
  const most = [hold('a'), hold('a'), hold('a'), hold('a'), hold('a')];
  const others = 'bcdefgh'.split('').map((client) => hold(client));
  read(others);
  expect(most.length + others.length).toBe(LIMITS.unreadAnswerBytes / LARGE);
  hold('z');
  expect(most.filter(({ stream }) => stream.destroyed)).toHaveLength(1);
  expect(others.some(({ stream }) => stream.destroyed)).toBe(false);
  const reading = most.filter(({ stream }) => !stream.destroyed);
  read([...reading, ...others]);
  expect(() => hold('z')).toThrow('Too many answers wait to be read');
});
