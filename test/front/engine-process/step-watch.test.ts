import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import { EngineClient } from '../../../src/front/engine-process/engine-client.ts';
import { EngineInstances } from '../../../src/front/engine-process/engine-instances.ts';
import type { StepListener } from '../../../src/front/engine-process/engine-contract.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { FakeEngineProcess, LOAD_MS, STEP_MS } from '../../support/fake-engine-process.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function listener() {
  const heard: unknown[] = [];
  const watcher: StepListener = {
    stepped: ({ step }, requestOf, instance) =>
      heard.push({ step, instance, label: requestOf(1)?.label?.requestId }),
    became: (state, numUnfinished, instance) => heard.push({ state, numUnfinished, instance }),
  };
  return { watcher, heard };
}

async function started<Client extends EngineClient | EngineInstances>(
  open: (spawn: ConstructorParameters<typeof EngineClient>[0]) => Client,
) {
  const processes: FakeEngineProcess[] = [];
  const client = open({
    spawn: (_memory, events) => {
      const engineProcess = new FakeEngineProcess(events);
      processes.push(engineProcess);
      return engineProcess;
    },
  });
  const isStarted = client.start({} as EngineOptions);
  await vi.advanceTimersByTimeAsync(LOAD_MS);
  await isStarted;
  return { client, processes };
}

const single = () => started((options) => new EngineClient(options));

const watchCommands = ({ commands }: FakeEngineProcess) =>
  commands.flatMap((command) => (command.type === 'watch' ? [command.every] : []));

describe('the engine process', () => {
  it('is told how closely it is watched, when that changes', async () => {
    const { client, processes } = await single();
    const [engineProcess] = processes;
    if (!engineProcess) throw new Error('nothing was started');
    expect(watchCommands(engineProcess)).toEqual([]);
    const leaveFirst = client.watchSteps(listener().watcher, 6);
    const leaveSecond = client.watchSteps(listener().watcher, 4);
    const leaveThird = client.watchSteps(listener().watcher, 2);
    leaveFirst();
    leaveThird();
    leaveSecond();
    expect(watchCommands(engineProcess)).toEqual([6, 2, 4, null]);
    await client.stop();
  });

  it('makes records, of which each listener gets its own', async () => {
    const { client, processes } = await single();
    const [often, rarely] = [listener(), listener()];
    client.watchSteps(often.watcher, 2);
    client.watchSteps(rarely.watcher, 4);
    const request = engineRequest({ label: { requestId: 'mine', serviceClass: null } });
    const answer = client.generate(request, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(STEP_MS * 5.5);
    const steps = (heard: readonly unknown[]) =>
      heard.map((each) => (each as { step: number }).step);
    expect(processes[0]?.every).toBe(2);
    expect(steps(often.heard).filter((step) => step % 2 === 1)).toEqual([]);
    expect(often.heard.at(-1)).toMatchObject({ instance: 0, label: 'mine' });
    expect(steps(rarely.heard)).toEqual(steps(often.heard).filter((step) => step % 4 === 0));
    expect(rarely.heard.length).toBeGreaterThan(0);
    void answer;
    await client.stop();
  });

  it('is watched again after a crash, of which those who watch hear', async () => {
    const { client, processes } = await single();
    const { watcher, heard } = listener();
    client.watchSteps(watcher, 3);
    const answer = client.generate(engineRequest({ maxTokens: 99 }), new AbortController().signal);
    await vi.advanceTimersByTimeAsync(STEP_MS * 3);
    heard.length = 0;
    processes[0]?.kill();
    await vi.advanceTimersByTimeAsync(LOAD_MS);
    expect(heard).toEqual([
      { state: 'recovering', numUnfinished: 1, instance: 0 },
      { state: 'ready', numUnfinished: 1, instance: 0 },
    ]);
    expect(processes[1] && watchCommands(processes[1])).toEqual([3]);
    await vi.advanceTimersByTimeAsync(STEP_MS * 4);
    expect(heard.length).toBeGreaterThan(2);
    void answer;
    await client.stop();
    expect(heard.at(-1)).toMatchObject({ state: 'stopped' });
  });

  it('is one of several, by its number', async () => {
    const { client, processes } = await started((options) => new EngineInstances(2, options));
    const { watcher, heard } = listener();
    const leave = client.watchSteps(watcher, 1);
    processes[1]?.kill();
    await vi.advanceTimersByTimeAsync(STEP_MS * 2);
    expect(heard).toContainEqual({ state: 'recovering', numUnfinished: 0, instance: 1 });
    expect(heard).toContainEqual({ step: expect.any(Number), instance: 0, label: undefined });
    expect(client.instances.map(({ state }) => state)).toEqual(['ready', 'recovering']);
    leave();
    expect(processes[0] && watchCommands(processes[0])).toEqual([1, null]);
    await client.stop();
  });
});
