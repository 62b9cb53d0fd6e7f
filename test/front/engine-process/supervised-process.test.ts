import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DescriptorReserve } from '../../../src/front/engine-process/descriptor-reserve.ts';
import {
  type ProcessHandle,
  SupervisedProcess,
} from '../../../src/front/engine-process/supervised-process.ts';
import type { ChildEvents } from '../../../src/threads/child-module.ts';

interface Launched extends ProcessHandle {
  readonly events: ChildEvents<string>;
  isKilled: boolean;
}

/** A supervised process, and what its owner hears of it. */
function supervised(options: { readonly counts?: boolean } = {}) {
  const heard: string[] = [];
  const launched: Launched[] = [];
  let failsToLaunch = false;
  const supervisedProcess = new SupervisedProcess<Launched, string>(
    {
      launch(events) {
        if (failsToLaunch) throw new Error('no memory');
        const handle: Launched = {
          pid: launched.length,
          events,
          isKilled: false,
          kill() {
            handle.isKilled = true;
            events.onExit('signal SIGKILL');
          },
          stop: async () => events.onExit('code 0'),
        };
        launched.push(handle);
        return handle;
      },
      onMessage(message) {
        if (message === 'bad') throw new Error('a fault of ours');
        heard.push(message);
      },
      onExit: () => heard.push('exit'),
      onCrash: (description) => heard.push(`crash: ${description}`),
      takeBack() {
        heard.push('take back');
        return options.counts ?? true;
      },
      onPause: ({ retryAfterSeconds }) => heard.push(`pause ${retryAfterSeconds}`),
      onFail: ({ message }) => heard.push(`fail: ${message}`),
      onState: (state) => heard.push(state),
    },
    new DescriptorReserve(),
  );
  const crash = () => launched.at(-1)?.events.onExit('code 1');
  return {
    heard,
    launched,
    supervisedProcess,
    crash,
    setFailsToLaunch: (fails: boolean) => (failsToLaunch = fails),
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

async function ready() {
  const all = supervised();
  const started = all.supervisedProcess.start();
  all.supervisedProcess.ready();
  await started;
  all.heard.length = 0;
  return all;
}

it('starts another process at once when it dies, and takes back what it had', async () => {
  const { heard, launched, crash, supervisedProcess } = await ready();
  crash();
  expect(heard).toEqual(['exit', 'crash: code 1', 'take back', 'recovering']);
  expect(launched).toHaveLength(2);
  expect(supervisedProcess.numCrashes).toBe(1);
  supervisedProcess.ready();
  expect(supervisedProcess.state).toBe('ready');
});

it('hears nothing more of a process that was replaced', async () => {
  const { heard, launched, crash } = await ready();
  crash();
  heard.length = 0;
  launched[0]?.events.onMessage('late');
  launched[0]?.events.onExit('again');
  launched[1]?.events.onMessage('new');
  expect(heard).toEqual(['new']);
});

it('waits when it dies again and again, twice as long each time, and tells how long', async () => {
  const { heard, launched, crash, supervisedProcess } = await ready();
  for (let index = 0; index < 3; index++) crash();
  expect(heard.at(-1)).toBe('pause 2');
  expect(() => supervisedProcess.requireAvailable()).toThrow(/./);
  expect(launched).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(2000);
  expect(launched).toHaveLength(4);
  crash();
  expect(heard.at(-1)).toBe('pause 4');
  await vi.advanceTimersByTimeAsync(4000);
  supervisedProcess.progressed();
  crash();
  expect(heard.at(-1)).toBe('recovering');
});

it('does not wait where the end was the fault of what it ran', () => {
  const { launched, crash, supervisedProcess } = supervised({ counts: false });
  supervisedProcess.start().catch(() => {});
  supervisedProcess.ready();
  for (let index = 0; index < 9; index++) crash();
  expect(launched).toHaveLength(10);
});

it.each([
  [
    'says so',
    'no such file',
    (all: Supervised) => all.supervisedProcess.loadFailed('no such file'),
  ],
  ['ends', 'the engine process ended: code 1', (all: Supervised) => all.crash()],
])('is given up when the first process %s', async (_, reason, fail) => {
  const all = supervised();
  const started = all.supervisedProcess.start();
  fail(all);
  await expect(started).rejects.toThrow(reason);
  expect(all.heard).toContain(`fail: ${reason}`);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(all.launched).toHaveLength(1);
});

type Supervised = ReturnType<typeof supervised>;

it('tries again when a later process cannot load, and tells the reason', async () => {
  const { heard, launched, crash, supervisedProcess } = await ready();
  crash();
  supervisedProcess.loadFailed('no memory');
  expect(launched[1]?.isKilled).toBe(true);
  expect(heard).toContain('crash: no memory');
  expect(launched).toHaveLength(3);
});

it('tells why a process ends if that has said so', async () => {
  const { heard, crash, supervisedProcess } = await ready();
  supervisedProcess.dying('an assertion failed');
  crash();
  expect(heard).toContain('crash: an assertion failed');
});

it('counts as a crash that none can be started', async () => {
  const { heard, crash, setFailsToLaunch } = await ready();
  setFailsToLaunch(true);
  crash();
  await vi.advanceTimersByTimeAsync(1);
  expect(heard).toContain('crash: Error: no memory');
  setFailsToLaunch(false);
});

it('replaces a process whose message could not be dealt with', async () => {
  const { launched } = await ready();
  // Thrown on, since nobody else would hear of it.
  expect(() => launched[0]?.events.onMessage('bad')).toThrow('a fault of ours');
  expect(launched[0]?.isKilled).toBe(true);
  expect(launched).toHaveLength(2);
});

it('stays stopped, and whoever waits for its start is told', async () => {
  const { heard, launched, crash, supervisedProcess } = supervised();
  const started = supervisedProcess.start();
  const stopped = supervisedProcess.stop();
  await expect(started).rejects.toThrow('stopped');
  await stopped;
  crash();
  expect(launched).toHaveLength(1);
  expect(heard).not.toContain('take back');
  expect(() => supervisedProcess.requireAvailable()).toThrow('stopped');
});
