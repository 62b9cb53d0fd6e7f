import { LIMITS } from '../../limits.ts';
import { tooManyBodies, unavailable } from '../errors.ts';

/** Seconds until most bodies that are being read now will have arrived. */
const RETRY_SECONDS = 1;

/** Bounds the memory of the bodies that are being read, over all clients and of each. */
export class BodyBudget {
  readonly #maxBytes: number;
  readonly #maxOfClient: number;
  #numBytes = 0;
  readonly #bytesByClient = new Map<string, number>();

  constructor(
    maxBytes: number = LIMITS.bodyBytesAtOnce,
    maxOfClient: number = LIMITS.clientBodyBytesAtOnce,
  ) {
    this.#maxBytes = maxBytes;
    this.#maxOfClient = maxOfClient;
  }

  /**
   * Charges `client` for bytes that came in.
   * @throws ApiError 429 past the client's share, 503 past what all may have
   */
  charge(client: string, numBytes: number): void {
    const ofClient = (this.#bytesByClient.get(client) ?? 0) + numBytes;
    if (ofClient > this.#maxOfClient) throw tooManyBodies(RETRY_SECONDS);
    if (this.#numBytes + numBytes > this.#maxBytes) {
      throw unavailable('Too many request bodies are being read; try again later.', RETRY_SECONDS);
    }
    this.#numBytes += numBytes;
    this.#bytesByClient.set(client, ofClient);
  }

  /** Gives back what was charged. */
  release(client: string, numBytes: number): void {
    this.#numBytes -= numBytes;
    const left = (this.#bytesByClient.get(client) ?? 0) - numBytes;
    if (left > 0) this.#bytesByClient.set(client, left);
    else this.#bytesByClient.delete(client);
  }
}
