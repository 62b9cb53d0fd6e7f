import type { BlockListener } from '../engine-process/engine-contract.ts';
import { LIMITS } from '../../limits.ts';
import { ALL_CLEARED, encodeBatch, wireEvents } from './event-batch.ts';
import { EventHistory } from './event-history.ts';
import { openSockets, type Sockets } from './zmq-sockets.ts';

export interface KvEventOptions {
  /** Such as `tcp://*:5557`. */
  readonly endpoint: string;
  /** Where missed events are asked for; nowhere if null. */
  readonly replayEndpoint: string | null;
  /** By which a router knows this server, `ip:port`. */
  readonly address: string;
}

/**
 * What the prefix caches hold, in vLLM's format over ZeroMQ, for routers that send a prompt where its
 * beginning is. Sequence numbers are of all models together, so that one gap shows what was missed.
 */
export class KvEventPublisher {
  readonly #address: string;
  readonly #sockets: Sockets;
  readonly #history: EventHistory;
  #nextSequence = 0;

  private constructor(address: string, history: EventHistory, sockets: Sockets) {
    this.#address = address;
    this.#history = history;
    this.#sockets = sockets;
  }

  /** @throws Error when zeromq is not installed, or an endpoint can't be bound */
  static async open({ endpoint, replayEndpoint, address }: KvEventOptions) {
    const history = new EventHistory(LIMITS.kvEventBatches, LIMITS.kvEventBytes);
    const sockets = await openSockets(endpoint, replayEndpoint, history);
    return new KvEventPublisher(address, history, sockets);
  }

  /** For one of a model's engines. */
  listener(model: string, blockTokens: () => number, instance: number): BlockListener {
    const topic = `kv@${this.#address}@${model}`;
    return {
      changed: (events) => this.#send(topic, wireEvents(events, blockTokens()), instance),
      cleared: () => this.#send(topic, ALL_CLEARED, instance),
    };
  }

  close(): void {
    this.#sockets.close();
  }

  #send(topic: string, events: ReturnType<typeof wireEvents>, instance: number): void {
    const payload = encodeBatch(events, Date.now() / 1000, instance);
    const batch = { topic, sequence: this.#nextSequence++, payload };
    this.#history.add(batch);
    this.#sockets.publish(batch);
  }
}
