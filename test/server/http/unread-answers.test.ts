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
  const connection = { bytesWritten: numBytes, writableLength: numBytes };
  const stream = new Writable();
  const answer = { numBytes, connection, cut: () => stream.destroy() };
  const release = unread.hold(client, answer);
  return { stream, connection, answer, release };
}

/** Time passes, in which those that are given are read. */
function read(answers: readonly ReturnType<typeof hold>[], numBytes = MIB): void {
  for (const { connection } of answers) connection.writableLength -= numBytes;
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
  answers[0]?.release();
  hold('a');
});

test('for another client the one with the most is cut, and nobody who reads', () => {
  const most = [hold('a'), hold('a')];
  const others = 'bcdefghijk'.split('').map((client) => hold(client));
  read(others);
  expect(most.length + others.length).toBe(LIMITS.unreadAnswerBytes / LARGE);
  hold('z');
  expect(most.filter(({ stream }) => stream.destroyed)).toHaveLength(1);
  expect(others.some(({ stream }) => stream.destroyed)).toBe(false);
  const reading = most.filter(({ stream }) => !stream.destroyed);
  read([...reading, ...others]);
  expect(() => hold('z')).toThrow('Too many answers wait to be read');
});

test('answers that have grown beyond the share are cut, and none of which nothing waits', () => {
  const told = vi.fn<(client: string, numBytes: number) => void>();
  unread = new UnreadAnswers(told);
  const share = LIMITS.clientUnreadAnswerBytes;
  const [idle, large, small, other] = [hold('a', 0), hold('a', 0), hold('a', 0), hold('b', 0)];
  const grow = ({ answer, connection }: typeof idle, numBytes: number): void => {
    answer.numBytes = numBytes;
    connection.bytesWritten = numBytes;
    connection.writableLength = numBytes;
  };
  vi.advanceTimersByTime(LIMITS.unreadAnswerMs);
  for (const each of [small, other]) grow(each, share / 4);
  grow(large, share);
  vi.advanceTimersByTime(3 * LIMITS.unreadAnswerMs);
  const all = [idle, large, small, other];
  expect(all.map(({ stream }) => stream.destroyed)).toEqual([false, true, false, false]);
  expect(told.mock.calls).toEqual([['a', share]]);
});
