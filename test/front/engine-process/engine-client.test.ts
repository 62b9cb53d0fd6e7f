import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EngineCommand, EngineOptions } from '../../../src/engine/process/protocol.ts';
import { EngineUnavailableError } from '../../../src/front/engine-process/errors.ts';
import { EngineClient } from '../../../src/front/engine-process/engine-client.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import {
  FakeEngineProcess,
  type FakeProcessOptions,
  LOAD_MS,
  PREFILL_STEPS,
  STEP_MS,
  tokenAt,
} from '../../support/fake-engine-process.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** The fake process reads none of them. */
const OPTIONS = {} as EngineOptions;
const MAX_TOKENS = 12;
/** Longer than the circuit breaker's pauses after three crashes, and all texts. */
const LONGEST_WAIT_MS = 20_000;

async function startClient(options: FakeProcessOptions = {}) {
  const processes: FakeEngineProcess[] = [];
  const client = new EngineClient({
    spawn: (_memory, events) => {
      const engineProcess = new FakeEngineProcess(events, options);
      processes.push(engineProcess);
      return engineProcess;
    },
  });
  const started = client.start(OPTIONS);
  await vi.advanceTimersByTimeAsync(LOAD_MS);
  await started;
  const newest = () => {
    const process = processes.at(-1);
    if (!process) throw new Error('no process was started');
    return process;
  };
  return { client, processes, newest };
}

interface Outcome {
  readonly tokenIds: number[];
  error?: unknown;
}

/** Starts a request; the outcome grows. */
function submit(client: EngineClient, first: number): Outcome {
  const outcome: Outcome = { tokenIds: [] };
  const request = engineRequest({ promptTokenIds: Int32Array.of(first), maxTokens: MAX_TOKENS });
  const read = async () => {
    for await (const batch of client.generate(request, new AbortController().signal)) {
      outcome.tokenIds.push(...batch.tokenIds);
    }
  };
  read().catch((error: unknown) => (outcome.error = error));
  return outcome;
}

const wholeText = (first: number) =>
  Array.from({ length: MAX_TOKENS }, (_, place) =>
    tokenAt({ promptTokenIds: Int32Array.of(first) }, place),
  );
const whole = (first: number): Outcome => ({ tokenIds: wholeText(first) });

describe('requests that crash the engine', () => {
  it('fail alone, whenever they do: all others get their whole text', async () => {
    const poison = fc.record({
      place: fc.nat(15),
      /** Tokens with which it crashes. */
      numTokens: fc.nat(MAX_TOKENS - 1),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(poison, { maxLength: 4, selector: ({ place }) => place }),
        fc.array(fc.nat(200), { minLength: 16, maxLength: 16 }),
        async (poisons, delays) => {
          const poisonous = new Map(poisons.map(({ place, numTokens }) => [place, numTokens]));
          const { client } = await startClient({
            crashes: ({ promptTokenIds: [first = -1] }, numTokens) =>
              numTokens === poisonous.get(first),
          });
          const outcomes: Outcome[] = [];
          for (const [place, delay] of delays.entries()) {
            setTimeout(() => (outcomes[place] = submit(client, place)), delay);
          }
          await vi.advanceTimersByTimeAsync(LONGEST_WAIT_MS);
          const expected = delays.map((_, place) => {
            const numTokens = poisonous.get(place);
            if (numTokens === undefined) return whole(place);
            const message = 'the engine crashed again and again on this request';
            return {
              tokenIds: wholeText(place).slice(0, numTokens),
              error: expect.objectContaining({ message }),
            };
          });
          expect(outcomes).toEqual(expected);
          expect(client.state).toBe('ready');
          await client.stop();
        },
      ),
      { numRuns: 60 },
    );
  });

  it('are found by four crashes', async () => {
    const { client, processes } = await startClient({
      crashes: ({ promptTokenIds }) => promptTokenIds[0] === 7,
    });
    const outcomes = Array.from({ length: 16 }, (_, place) => submit(client, place));
    await vi.advanceTimersByTimeAsync(LONGEST_WAIT_MS);
    expect(outcomes.filter(({ error }) => error)).toEqual([outcomes[7]]);
    expect(processes).toHaveLength(5);
    await client.stop();
  });
});

describe('three kills', () => {
  it('fail no request and lose no token, whenever they come', async () => {
    const killTimes = fc.array(fc.nat(2000), { minLength: 3, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(killTimes, fc.integer({ min: 1, max: 16 }), async (times, count) => {
        const { client, newest } = await startClient();
        const outcomes = Array.from({ length: count }, (_, place) => submit(client, place));
        for (const time of times) setTimeout(() => newest().kill(), time);
        await vi.advanceTimersByTimeAsync(LONGEST_WAIT_MS);
        expect(outcomes).toEqual(outcomes.map((_, place) => whole(place)));
        await client.stop();
      }),
      { numRuns: 100 },
    );
  });

  it('in a row, with requests in prefill, fail none; new ones are refused for the pause', async () => {
    const { client, newest } = await startClient();
    const outcomes = Array.from({ length: 4 }, (_, place) => submit(client, place));
    for (let kill = 0; kill < 3; kill++) {
      // Each dies while it computes the prompts.
      await vi.advanceTimersByTimeAsync(kill === 0 ? STEP_MS : LOAD_MS + STEP_MS);
      newest().kill();
    }
    expect(client.state).toBe('failed');
    const refused = submit(client, 9);
    await vi.advanceTimersByTimeAsync(0);
    expect(refused.error).toBeInstanceOf(EngineUnavailableError);
    await vi.advanceTimersByTimeAsync(LONGEST_WAIT_MS);
    expect(outcomes).toEqual(outcomes.map((_, place) => whole(place)));
    await client.stop();
  });
});

describe('an engine that does not come back', () => {
  it('fails what waited through three pauses, and says when to try again', async () => {
    const { client, newest } = await startClient();
    const outcome = submit(client, 1);
    await vi.advanceTimersByTimeAsync((PREFILL_STEPS + 2) * STEP_MS);
    newest().kill();
    const killing = setInterval(() => newest().end('out of memory'), 50);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(outcome.error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(outcome.error).toBeInstanceOf(EngineUnavailableError);
    expect(outcome.tokenIds).toEqual(wholeText(1).slice(0, 2));
    clearInterval(killing);
    await vi.advanceTimersByTimeAsync(LONGEST_WAIT_MS);
    const next = submit(client, 2);
    await vi.advanceTimersByTimeAsync(1000);
    expect(next).toEqual(whole(2));
    await client.stop();
  });
});

describe('a process that cannot be started', () => {
  it('is tried again, and requests wait', async () => {
    let numFailures = 0;
    const processes: FakeEngineProcess[] = [];
    const client = new EngineClient({
      spawn: (_memory, events) => {
        if (processes.length === 1 && numFailures++ < 4) throw new Error('spawn ENOMEM');
        const engineProcess = new FakeEngineProcess(events);
        processes.push(engineProcess);
        return engineProcess;
      },
    });
    const started = client.start(OPTIONS);
    await vi.advanceTimersByTimeAsync(LOAD_MS);
    await started;
    const outcome = submit(client, 1);
    await vi.advanceTimersByTimeAsync(5 * STEP_MS);
    processes[0]?.kill();
    await vi.advanceTimersByTimeAsync(LONGEST_WAIT_MS);
    expect(numFailures).toBe(5);
    expect(outcome).toEqual(whole(1));
    await client.stop();
  });
});

describe('requests that come at once', () => {
  const sent = (commands: readonly EngineCommand[]) => commands.slice(2).map(({ type }) => type);

  it('go to the engine as one message, and so do their ends', async () => {
    const { client, newest } = await startClient();
    const controller = new AbortController();
    const request = engineRequest({ promptTokenIds: Int32Array.of(1), maxTokens: MAX_TOKENS });
    const outcomes = Array.from({ length: 8 }, async () => {
      for await (const _ of client.generate(request, controller.signal));
    });
    await vi.advanceTimersByTimeAsync(STEP_MS * (PREFILL_STEPS + 2));
    expect(sent(newest().commands)).toEqual(['add']);
    controller.abort(new Error('enough'));
    await Promise.allSettled(outcomes);
    await vi.advanceTimersByTimeAsync(0);
    expect(sent(newest().commands)).toEqual(['add', 'abort']);
    await client.stop();
  });

  it('go one by one when one of them cannot be written', async () => {
    const { client, newest } = await startClient();
    const send = newest().send.bind(newest());
    vi.spyOn(newest(), 'send').mockImplementation((command) => {
      const isBad = command.type === 'add' && command.requests.some(({ id }) => id === 2);
      if (isBad) throw new Error('could not be cloned');
      send(command);
    });
    const outcomes = Array.from({ length: 3 }, (_, place) => submit(client, place));
    await vi.advanceTimersByTimeAsync(LONGEST_WAIT_MS);
    const error = expect.objectContaining({ message: 'could not be cloned' });
    expect(outcomes).toEqual([whole(0), { tokenIds: [], error }, whole(2)]);
    await client.stop();
  });
});

describe('a request that cannot be sent', () => {
  it('fails, and nothing of it stays', async () => {
    const { client, newest } = await startClient();
    const error = new Error('could not be cloned');
    vi.spyOn(newest(), 'send').mockImplementationOnce(() => {
      throw error;
    });
    const outcome = submit(client, 1);
    await vi.advanceTimersByTimeAsync(0);
    expect(outcome.error).toBe(error);
    newest().kill();
    await vi.advanceTimersByTimeAsync(LOAD_MS);
    expect(newest().commands.at(-1)).toEqual({ type: 'resume', requests: [] });
    await client.stop();
  });
});

describe('its slots', () => {
  const numAsked = ({ commands }: FakeEngineProcess) =>
    commands.filter(({ type }) => type === 'inspect').length;

  it('are asked of the process, once by all who ask at a time', async () => {
    const { client, newest } = await startClient();
    const asked = Promise.all([client.inspect(), client.inspect()]);
    await vi.advanceTimersByTimeAsync(STEP_MS);
    const slots = [{ slot: 0, sequence: null, numKeptTokens: 0 }];
    expect(await asked).toEqual([slots, slots]);
    expect(numAsked(newest())).toBe(1);
    const again = client.inspect();
    await vi.advanceTimersByTimeAsync(STEP_MS);
    expect(await again).toEqual(slots);
    expect(numAsked(newest())).toBe(2);
    await client.stop();
  });

  it('are unknown of a process that does not answer, or is not there', async () => {
    const { client, newest } = await startClient();
    newest().isMute = true;
    const asked = client.inspect().catch(String);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await asked).toContain('did not answer within 2 s');
    newest().kill();
    await expect(client.inspect()).rejects.toThrow('not ready');
    await client.stop();
  });
});
