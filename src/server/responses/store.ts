/** Keeps responses in memory, of each client apart, the least recently used ones dropped first. */
import { LIMITS } from '../../limits.ts';
import { ResponsePartition } from './partition.ts';

export class ResponseStore {
  readonly #maxBytes: number;
  readonly #partitions = new Map<string, ResponsePartition>();

  /** @param maxBytes of all texts kept together; 0 keeps nothing */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEnabled(): boolean {
    return this.#maxBytes > 0;
  }

  get numBytes(): number {
    return this.#sum(({ numBytes }) => numBytes);
  }

  get size(): number {
    return this.#sum(({ size }) => size);
  }

  /** Partition of `client`; an empty one for a client that was not seen before. */
  of(client: string): ResponsePartition {
    const known = this.#partitions.get(client);
    if (known !== undefined) return known;
    const { isEnabled } = this;
    const partition = new ResponsePartition({ isEnabled, onGrown: () => this.#makeRoom() });
    this.#partitions.set(client, partition);
    return partition;
  }

  /** Drops from the client that takes the most: a client that fills the store drops what is its own. */
  #makeRoom(): void {
    while (this.numBytes > this.#maxBytes) this.#largest(({ numBytes }) => numBytes).dropOldest();
    while (this.size > LIMITS.storedResponses) this.#largest(({ size }) => size).dropOldest();
  }

  #largest(measure: (partition: ResponsePartition) => number): ResponsePartition {
    return [...this.#partitions.values()].reduce((largest, other) =>
      measure(other) > measure(largest) ? other : largest,
    );
  }

  /** One partition per API key: few enough to count anew. */
  #sum(measure: (partition: ResponsePartition) => number): number {
    let sum = 0;
    for (const partition of this.#partitions.values()) sum += measure(partition);
    return sum;
  }
}
