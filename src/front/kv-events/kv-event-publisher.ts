import type { BlockListener } from '../engine-process/engine-contract.ts';
import { LIMITS } from '../../limits.ts';
import { ALL_CLEARED, encodeBatch, wireEvents } from './event-batch.ts';
import { EventHistory } from './event-history.ts';
import { Publisher, Replayer } from './event-sockets.ts';

/**
 * Publishes the content of the prefix caches, in vLLM's format over ZeroMQ, for routers that send a
 * prompt where its beginning is cached. All models share one count of sequence numbers, so a gap shows
 * how many batches were missed.
 */
export class KvEventPublisher {
  /** Socket on which events are published. */
  readonly events = new Publisher();
  readonly #history = new EventHistory(LIMITS.kvEventBatches, LIMITS.kvEventBytes);
  /** Where missed events are asked for. */
  readonly replays = new Replayer(this.#history);
  readonly #address: string;
  #nextSequence = 0;

  /** @param address by which a router knows this server, `ip:port` */
  constructor(address: string) {
    this.#address = address;
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
    this.events.close();
    this.replays.close();
  }

  #send(topic: string, events: ReturnType<typeof wireEvents>, instance: number): void {
    const payload = encodeBatch(events, Date.now() / 1000, instance);
    const batch = { topic, sequence: this.#nextSequence++, payload };
    this.#history.add(batch);
    this.events.publish(batch);
  }
}
