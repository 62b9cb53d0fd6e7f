/** The sockets where routers hear of events, and ask for those that they missed: PUB and ROUTER of ZeroMQ. */
import type { Socket } from 'node:net';
import { LIMITS } from '../../limits.ts';
import { LoopTurns } from '../../loop-turns.ts';
import type { EventHistory, SentBatch } from './event-history.ts';
import { messageOf } from './zmtp.ts';
import { ZmtpPeer } from './zmtp-peer.ts';

/** Ends what is replayed. */
const END = -1n;

/** Milliseconds in which subscribers may read the last events when the server ends. */
const LINGER_MS = 1000;

const SUBSCRIBE = 1;

/** Bytes of events that are replayed in a turn of the event loop. */
const TURN_BYTES = 2 ** 16;

interface Subscriber {
  readonly peer: ZmtpPeer;
  /** Beginnings of topics, each as often as it was subscribed to. */
  readonly topics: string[];
  numChanges: number;
}

/** Tells of batches in messages of three frames: topic, sequence number, payload. */
export class Publisher {
  readonly #subscribers = new Set<Subscriber>();

  add(socket: Socket): void {
    const peer = new ZmtpPeer(socket, 'PUB', ([topic]) => subscribe(subscriber, topic));
    const subscriber: Subscriber = { peer, topics: [], numChanges: 0 };
    this.#subscribers.add(subscriber);
    socket.once('close', () => this.#subscribers.delete(subscriber));
  }

  /** Never waits: a subscriber that is too slow loses what comes. */
  publish({ topic, sequence, payload }: SentBatch): void {
    if (this.#subscribers.size === 0) return;
    const message = messageOf([topic, bigEndian(BigInt(sequence)), payload]);
    const most = LIMITS.unreadEventBytes / this.#subscribers.size;
    for (const { peer, topics } of this.#subscribers) {
      if (!topics.some((beginning) => topic.startsWith(beginning))) continue;
      if (peer.unreadBytes + message.length <= most) peer.send(message);
    }
  }

  close(): void {
    for (const { peer } of this.#subscribers) peer.close(LINGER_MS);
  }
}

/** @throws Error for what is no subscription, and for too many */
function subscribe(subscriber: Subscriber, message: Buffer | undefined): void {
  const kind = message?.[0];
  const topic = message?.toString('utf8', 1) ?? '';
  if ((kind !== 0 && kind !== SUBSCRIBE) || ++subscriber.numChanges > LIMITS.eventTopics) {
    throw new Error('no subscription, or one too many');
  }
  const { topics } = subscriber;
  if (kind === SUBSCRIBE) topics.push(topic);
  else if (topics.includes(topic)) topics.splice(topics.indexOf(topic), 1);
}

/** Answers those who ask, by an empty frame and a number, with all batches from that one on. */
export class Replayer {
  readonly #history: EventHistory;
  readonly #peers = new Set<ZmtpPeer>();
  /** Looking for events takes longer than asking for them. */
  readonly #turns = new LoopTurns(1);

  constructor(history: EventHistory) {
    this.#history = history;
  }

  add(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const peer = new ZmtpPeer(socket, 'ROUTER', (message) => this.#answer(peer, address, message));
    this.#peers.add(peer);
    socket.once('close', () => this.#peers.delete(peer));
  }

  close(): void {
    for (const peer of this.#peers) peer.close(0);
  }

  async #answer(peer: ZmtpPeer, address: string, [empty, start]: readonly Buffer[]) {
    if (empty?.length !== 0 || start?.length !== 8) throw new Error('no request for events');
    await this.#turns.next(address);
    let numBytes = 0;
    for (const batch of this.#history.from(Number(start.readBigUInt64BE()))) {
      if (peer.isGone) return;
      const { topic, sequence, payload } = batch;
      const message = messageOf(['', topic, bigEndian(BigInt(sequence)), payload]);
      const keepsUp = peer.send(message);
      numBytes += message.length;
      if (keepsUp && numBytes < TURN_BYTES) continue;
      if (!keepsUp) await peer.drained();
      await this.#turns.next(address);
      numBytes = 0;
    }
    if (!peer.send(messageOf(['', '', bigEndian(END), '']))) await peer.drained();
  }
}

function bigEndian(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
