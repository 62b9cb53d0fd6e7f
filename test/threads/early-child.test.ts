import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { startEarly, takeEarly } from '../../src/threads/early-child.ts';
import { isAlive } from '../../src/threads/is-alive.ts';
import { childrenOf, killNow, until } from '../support/processes.ts';

const ENTRY = new URL('./support/waiting-process.ts', import.meta.url);
const COMMAND = { type: 'prepare' };

/** Pids of those that were started since. */
function watchChildren(): () => number[] {
  const before = new Set(childrenOf(process.pid));
  return () => childrenOf(process.pid).filter((pid) => !before.has(pid));
}

test('a process that was started early is taken once, and is not ended then', async () => {
  const children = watchChildren();
  const end = startEarly(ENTRY, COMMAND);
  const endSecond = startEarly(ENTRY, COMMAND);
  expect(children()).toHaveLength(1);
  const taken = takeEarly(ENTRY);
  onTestFinished(() => void taken?.kill('SIGKILL'));
  expect(taken?.pid).toBe(children()[0]);
  expect(takeEarly(ENTRY)).toBeUndefined();
  const [heard] = await once(taken as NonNullable<typeof taken>, 'message');
  expect(heard).toEqual(COMMAND);
  end();
  endSecond();
  expect(isAlive(taken?.pid ?? 0)).toBe(true);
});

test('a process that nobody takes is ended', async () => {
  const children = watchChildren();
  const end = startEarly(ENTRY, COMMAND);
  const [pid = 0] = children();
  expect(isAlive(pid)).toBe(true);
  end();
  expect(takeEarly(ENTRY)).toBeUndefined();
  await until(() => !isAlive(pid), 'its end');
});

test('a process that has died is not taken, and the next one can be', async () => {
  const children = watchChildren();
  startEarly(ENTRY, COMMAND);
  const [pid = 0] = children();
  killNow(pid);
  await until(() => !isAlive(pid), 'its end');
  const end = startEarly(ENTRY, COMMAND);
  onTestFinished(end);
  await until(() => children().some((child) => child !== pid), 'another one');
  expect(takeEarly(ENTRY)?.pid).toBe(children()[0]);
});
