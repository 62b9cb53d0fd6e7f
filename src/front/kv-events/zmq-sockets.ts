import type { Router } from 'zeromq';
import type { EventHistory, SentBatch } from './event-history.ts';

export interface Sockets {
  /** Never waits: a subscriber that is too slow loses what comes. */
  publish(batch: SentBatch): void;
  close(): void;
}

/** Messages that wait for a subscriber, as in vLLM. */
const HIGH_WATER_MARK = 100_000;
/** Ends what is replayed. */
const END = -1n;

/**
 * Three frames: topic, sequence number, payload.
 * @param replayEndpoint where subscribers ask for what they missed: an empty frame and a number
 * @throws Error when zeromq is not installed, or an endpoint can't be bound
 */
export async function openSockets(
  endpoint: string,
  replayEndpoint: string | null,
  history: EventHistory,
): Promise<Sockets> {
  const zeromq = await import('zeromq').catch((error: unknown) => {
    throw new Error('--kv-events needs the package zeromq: npm install zeromq', { cause: error });
  });
  const publisher = new zeromq.Publisher({ sendHighWaterMark: HIGH_WATER_MARK, linger: 1000 });
  await publisher.bind(endpoint);
  const router = replayEndpoint === null ? null : new zeromq.Router({ linger: 0 });
  if (router && replayEndpoint !== null) {
    await router.bind(replayEndpoint);
    void answerReplays(router, history);
  }
  // A socket takes one message at a time.
  let last = Promise.resolve();
  return {
    publish({ topic, sequence, payload }) {
      last = last
        .then(() => publisher.send([topic, bigEndian(BigInt(sequence)), payload]))
        .catch(() => {});
    },
    close() {
      void last.finally(() => publisher.close());
      router?.close();
    },
  };
}

/** Until the socket is closed. Never rejects. */
async function answerReplays(router: Router, history: EventHistory): Promise<void> {
  try {
    for await (const [client, empty, start] of router) {
      if (client === undefined || empty?.length !== 0 || start?.length !== 8) continue;
      const from = Number(start.readBigUInt64BE());
      for (const { topic, sequence, payload } of history.from(from)) {
        await router.send([client, '', topic, bigEndian(BigInt(sequence)), payload]);
      }
      await router.send([client, '', '', bigEndian(END), '']);
    }
  } catch {
    // Closed while it sent.
  }
}

function bigEndian(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
