import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EncoderOptions, TokenInput } from '../../../src/encoder/process/protocol.ts';
import { EncoderClient } from '../../../src/front/encoder-process/encoder-client.ts';
import { FakeEncoder, type FakeEncoderOptions, LOAD_MS, RUN_MS } from './support/fake-encoder.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** The fake process reads none of them. */
const OPTIONS = {} as EncoderOptions;
const TIMEOUT_MS = 1000;
/** Longer than the circuit breaker's pauses. */
const LONG_MS = 60_000;

async function startClient(options: FakeEncoderOptions = {}) {
  const processes: FakeEncoder[] = [];
  const client = new EncoderClient({
    runTimeoutMs: TIMEOUT_MS,
    spawn: (events) => {
      const fake = new FakeEncoder(events, options);
      processes.push(fake);
      return fake;
    },
  });
  const started = client.start(OPTIONS);
  await vi.advanceTimersByTimeAsync(LOAD_MS);
  await started;
  return { client, processes };
}

function text(token: number): TokenInput {
  return { type: 'tokens', ids: Int32Array.of(token), secondStart: 1 };
}

/** Outcome of each: its token, or an error's message. */
async function outcomesOf(client: EncoderClient, tokens: readonly number[]) {
  const outcomes = client.run(tokens.map(text));
  await vi.advanceTimersByTimeAsync(LONG_MS);
  return (await outcomes).map((outcome) =>
    outcome.type === 'done' ? outcome.output[0]?.data[0] : outcome.error.message,
  );
}

describe('an encoder process', () => {
  it('runs a batch', async () => {
    const { client, processes } = await startClient();
    expect(await outcomesOf(client, [1, 2, 3])).toEqual([1, 2, 3]);
    expect(processes.map(({ batches }) => batches)).toEqual([[[1, 2, 3]]]);
  });

  it('that is killed is replaced, and its batch is run again', async () => {
    const { client, processes } = await startClient();
    const outcomes = client.run([text(1), text(2)]);
    await vi.advanceTimersByTimeAsync(RUN_MS / 2);
    processes[0]?.kill();
    await vi.advanceTimersByTimeAsync(LOAD_MS + 3 * RUN_MS);
    expect(await outcomes).toEqual([
      expect.objectContaining({ type: 'done' }),
      expect.objectContaining({ type: 'done' }),
    ]);
    expect(processes[1]?.batches).toEqual([[1], [2]]);
    expect(client.numCrashes).toBe(1);
  });

  it('that dies over a request again and again fails that one alone', async () => {
    const { client } = await startClient({ crashes: (token) => token === 2 });
    expect(await outcomesOf(client, [1, 2, 3])).toEqual([
      1,
      'the engine crashed again and again on this request',
      3,
    ]);
    expect(client.numCrashes).toBe(4);
    expect(await outcomesOf(client, [4])).toEqual([4]);
  });

  it('that hangs is killed after its time', async () => {
    const { client } = await startClient({ hangs: (token) => token === 2 });
    expect(await outcomesOf(client, [1, 2])).toEqual([
      1,
      'the engine crashed again and again on this request',
    ]);
  });

  it.each([1, 2, 3])('loses nothing to %i kills wherever they fall', async (kills) => {
    for (let everyMs = 50; everyMs <= 450; everyMs += 50) {
      const { client, processes } = await startClient();
      for (let kill = 1; kill <= kills; kill++) {
        setTimeout(() => processes.at(-1)?.kill(), kill * everyMs);
      }
      expect(await outcomesOf(client, [1, 2, 3, 4])).toEqual([1, 2, 3, 4]);
    }
  });

  it('refuses new requests while it pauses between processes that die', async () => {
    const { client, processes } = await startClient();
    for (let crash = 0; crash < 3; crash++) {
      processes.at(-1)?.kill();
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(client.state).toBe('failed');
    expect(() => client.requireAvailable()).toThrow('the engine is not available');
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(await outcomesOf(client, [1])).toEqual([1]);
  });

  it('ends what it runs when it is stopped', async () => {
    const { client } = await startClient();
    const message = client.run([text(1)]).catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(1);
    await client.stop();
    expect(await message).toBe('the engine was stopped');
  });
});
