/** Events of a real server's prefix cache over ZeroMQ, read by a reader of msgpack that is not ours. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Dealer, Subscriber } from 'zeromq';
import { metric, post } from '../support/http-client.ts';
import { unpack } from '../support/msgpack-reader.ts';
import { killNow, until } from '../support/processes.ts';
import { freePorts } from '../support/free-ports.ts';
import { engineOf, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

interface Received {
  readonly topic: string;
  readonly sequence: number;
  readonly events: readonly (readonly unknown[])[];
}

function read([topic, sequence, payload]: readonly Buffer[]): Received {
  const [, events] = unpack(payload ?? Buffer.alloc(0)) as [number, unknown[][]];
  return { topic: String(topic), sequence: Number(sequence?.readBigInt64BE()), events };
}

describe('events of the prefix cache', () => {
  let server: ServerProcess;
  let cache: Awaited<ReturnType<typeof temporaryCache>>;
  let replay = '';
  const subscriber = new Subscriber();
  const received: Received[] = [];

  beforeAll(async () => {
    cache = await temporaryCache();
    const [events, replays] = await freePorts(2);
    replay = `tcp://127.0.0.1:${replays}`;
    const endpoint = `tcp://127.0.0.1:${events}`;
    subscriber.connect(endpoint);
    subscriber.subscribe('kv@');
    void (async () => {
      for await (const frames of subscriber) received.push(read(frames));
    })().catch(() => {});
    const flags = [`--kv-events=${endpoint}`, `--kv-events-replay=${replay}`];
    server = await startServer(
      [...flags, '--kv-events-address=10.0.0.1:8000', '--warmup=off'],
      cache.env,
    );
  });
  afterAll(async () => {
    subscriber.close();
    await server?.stop();
    await cache?.remove();
  });

  const ask = async (prompt: string) => {
    const body = { prompt, max_tokens: 4, temperature: 0, ignore_eos: true };
    expect((await post(`${server.url}/v1/completions`, body)).status).toBe(200);
  };
  const events = () => received.flatMap((batch) => batch.events);
  const stored = () => events().filter(([tag]) => tag === 'BlockStored');

  it('name the server and the model, and the blocks of a prompt with their tokens', async () => {
    const text = 'Once upon a time there was a fox who had a lamp and walked through the rain. ';
    await until(async () => {
      await ask(text.repeat(3));
      return received.length > 0;
    }, 'the subscription');
    await until(() => stored().length > 0, 'a stored block');
    expect(received[0]?.topic).toBe('kv@10.0.0.1:8000@summit');
    const [, names, , tokenIds, blockSize, lora, medium] = stored()[0] ?? [];
    expect({ blockSize, lora, medium }).toEqual({ blockSize: 16, lora: null, medium: 'gpu' });
    expect((tokenIds as number[]).length).toBe(16 * (names as unknown[]).length);
    // The same prompt again is found, and nothing new is stored of it.
    const hits = await metric(server.url, 'chairlift_prefix_cache_hits_total');
    await ask(text.repeat(3));
    const isFound = async () =>
      (await metric(server.url, 'chairlift_prefix_cache_hits_total')) > hits;
    await until(isFound, 'a hit in the metrics');
    const all = stored().flatMap(([, each]) => each as unknown[]);
    expect(new Set(all).size).toBe(all.length);
  });

  it('are numbered without a gap, and can be asked for again', async () => {
    await ask('A hill that is covered by snow is a good place for a chairlift. '.repeat(4));
    await until(() => (received.at(-1)?.sequence ?? 0) > 0, 'a second batch');
    const first = received[0]?.sequence ?? 0;
    expect(received.map(({ sequence }) => sequence)).toEqual(
      received.map((_, index) => first + index),
    );
    const known = [...received];
    const dealer = new Dealer();
    dealer.connect(replay);
    const from = Buffer.alloc(8);
    await dealer.send(['', from]);
    const replayed: Received[] = [];
    let last: bigint | undefined;
    for await (const [empty, topic, sequence, payload] of dealer) {
      expect(empty?.length).toBe(0);
      last = sequence?.readBigInt64BE();
      if (payload === undefined || payload.length === 0) break;
      replayed.push(read([topic, sequence, payload].filter((frame) => frame !== undefined)));
    }
    dealer.close();
    expect(last).toBe(-1n);
    expect(replayed[0]?.sequence).toBe(0);
    expect(replayed.slice(first, first + known.length)).toEqual(known);
  });

  it('say that all is gone when the engine is', async () => {
    killNow(engineOf(server));
    const isCleared = () => events().some(([tag]) => tag === 'AllBlocksCleared');
    await until(isCleared, 'an event that all is cleared');
    const before = stored().length;
    await ask('Two friends in a boat had bread for a week and a map of the lake. '.repeat(4));
    await until(() => stored().length > before, 'a block of the new engine');
    const tags = events().map(([tag]) => tag);
    expect(tags.lastIndexOf('BlockStored')).toBeGreaterThan(tags.indexOf('AllBlocksCleared'));
  });
});
