/** How many streams of a kind may be open that no queue holds back, and how many of one client. */
import { tooManyListeners } from '../errors.ts';

export interface PlaceLimits {
  readonly all: number;
  readonly ofClient: number;
}

export class StreamPlaces {
  readonly #limits: PlaceLimits;
  /** Content of the streams, for the error of a client that gets no place. */
  readonly #topic: string;
  readonly #numByClient = new Map<string, number>();
  #num = 0;

  constructor(limits: PlaceLimits, topic: string) {
    this.#limits = limits;
    this.#topic = topic;
  }

  /**
   * Takes a place for a stream.
   * @returns gives it back; to be called once
   * @throws ApiError 429 when all are taken, or all that the client may have
   */
  take(client: string): () => void {
    const { all, ofClient } = this.#limits;
    const numOwn = this.#numByClient.get(client) ?? 0;
    if (this.#num >= all) throw tooManyListeners(all, this.#topic);
    if (numOwn >= ofClient) throw tooManyListeners(ofClient, this.#topic);
    this.#num++;
    this.#numByClient.set(client, numOwn + 1);
    return () => this.#giveBack(client);
  }

  #giveBack(client: string): void {
    this.#num--;
    const numOwn = (this.#numByClient.get(client) ?? 1) - 1;
    if (numOwn > 0) this.#numByClient.set(client, numOwn);
    else this.#numByClient.delete(client);
  }
}
