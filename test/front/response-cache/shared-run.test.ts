import { EventEmitter, once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { GenerationDelta } from '../../../src/front/generation/generation.ts';
import { type RunReader, SharedRun } from '../../../src/front/response-cache/shared-run.ts';

const DELTAS: readonly GenerationDelta[] = [
  ...['Hel', 'lo ', 'there'].map((text, index) => ({
    text,
    tokenIds: [index],
    finishReason: null,
    stopReason: null,
  })),
  { text: '!', tokenIds: [3], finishReason: 'stop', stopReason: null },
];

/** A run of which each delta comes when it is told to. */
function steppedRun(deltas = DELTAS, maxBytes = 2 ** 20) {
  const steps = new EventEmitter();
  const events = { closed: 0, ended: false, complete: null as readonly GenerationDelta[] | null };
  const run = new SharedRun(
    async function* (signal) {
      try {
        for (const delta of deltas) {
          await once(steps, 'step', { signal });
          yield delta;
        }
      } finally {
        events.ended = true;
      }
    },
    {
      numSequences: 1,
      maxBytes,
      onClosed: () => void events.closed++,
      onComplete: (all) => (events.complete = [...all]),
    },
  );
  return {
    run,
    events,
    step: async (count = 1): Promise<void> => {
      for (let index = 0; index < count; index++) {
        steps.emit('step');
        await setImmediate();
      }
    },
  };
}

async function textOf(reader: RunReader): Promise<string> {
  let text = '';
  for await (const delta of reader) text += delta.text;
  return text;
}

const never = new AbortController().signal;

describe('a run that several requests read', () => {
  test('gives each the whole text, whenever it comes', async () => {
    const { run, step, events } = steppedRun();
    const first = textOf(run.read(never));
    await step(2);
    const second = textOf(run.read(never));
    await step(2);
    expect(await Promise.all([first, second])).toEqual(['Hello there!', 'Hello there!']);
    expect(events.complete?.map(({ text }) => text).join('')).toBe('Hello there!');
    expect(events.closed).toBe(1);
  });

  test('goes on when the request leaves that started it, and the other pays from there', async () => {
    const { run, step } = steppedRun();
    const leaving = new AbortController();
    const leader = run.read(leaving.signal);
    const led = textOf(leader);
    const follower = run.read(never);
    const followed = textOf(follower);
    await step();
    leaving.abort(new Error('gone'));
    await expect(led).rejects.toThrow('gone');
    await step(3);
    expect(await followed).toBe('Hello there!');
    expect([leader.chargedTokens, follower.chargedTokens]).toEqual([1, 3]);
  });

  test('ends with the last request that reads it', async () => {
    const { run, step, events } = steppedRun();
    const leaving = [new AbortController(), new AbortController()];
    const texts = leaving.map(({ signal }) => textOf(run.read(signal)));
    await step();
    for (const controller of leaving) controller.abort(new Error('gone'));
    await Promise.allSettled(texts);
    await setImmediate();
    expect(events).toEqual({ closed: 1, ended: true, complete: null });
    expect(run.isOpen).toBe(false);
  });

  test('ends with its last reader though that does not read on', async () => {
    const { run, step, events } = steppedRun();
    const leaving = new AbortController();
    const reader = run.read(leaving.signal);
    await step();
    leaving.abort(new Error('gone'));
    await setImmediate();
    expect(events.ended).toBe(true);
    await expect(reader.next()).rejects.toThrow('gone');
  });

  test('ends with the reason of the last that ran out of time', async () => {
    let reason: unknown;
    const run = new SharedRun(
      async function* (signal) {
        yield* DELTAS.slice(0, 1);
        await once(signal, 'abort');
        reason = signal.reason;
      },
      { numSequences: 1, maxBytes: 100, onClosed: () => {}, onComplete: () => {} },
    );
    await expect(textOf(run.read(AbortSignal.timeout(1)))).rejects.toThrow(/timeout/);
    await setImmediate();
    expect(reason).toMatchObject({ name: 'TimeoutError' });
  });

  test('fails for all who read it', async () => {
    const run = new SharedRun(
      // oxlint-disable-next-line require-yield
      async function* () {
        await setImmediate();
        throw new Error('broken');
      },
      { numSequences: 1, maxBytes: 100, onClosed: () => {}, onComplete: () => {} },
    );
    const results = await Promise.allSettled([textOf(run.read(never)), textOf(run.read(never))]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  test('is not kept whole beyond its limit, and whoever does not read it is given up', async () => {
    const long = Array.from({ length: 50 }, (_, index) => ({
      text: 'x'.repeat(20),
      tokenIds: [index],
      finishReason: index === 49 ? ('stop' as const) : null,
      stopReason: null,
    }));
    const { run, step, events } = steppedRun(long, 1000);
    const reading = textOf(run.read(never));
    const idle = run.read(never);
    await step(20);
    expect(run.isOpen).toBe(false);
    await step(30);
    expect((await reading).length).toBe(1000);
    await expect(idle.next()).rejects.toThrow('reads too slowly');
    expect(events.complete).toBeNull();
  });
});
