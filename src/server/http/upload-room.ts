import { ApiError } from '../errors.ts';

/** How many files may come in at once, of one client and of all. */
export class UploadRoom {
  readonly #max: number;
  readonly #maxOfClient: number;
  readonly #clients: string[] = [];

  constructor(max: number, maxOfClient: number) {
    this.#max = max;
    this.#maxOfClient = maxOfClient;
  }

  /** @returns gives the place back; null if there is none */
  enter(client: string): (() => void) | null {
    const own = this.#clients.filter((other) => other === client).length;
    if (own >= this.#maxOfClient || this.#clients.length >= this.#max) return null;
    this.#clients.push(client);
    return () => void this.#clients.splice(this.#clients.indexOf(client), 1);
  }
}

export function tooManyUploads(limit: number): ApiError {
  const message = `You upload ${limit} files already, or others do; wait until one is done.`;
  return new ApiError(429, 'rate_limit_error', message, {
    code: 'too_many_uploads',
    headers: { 'retry-after': '5' },
  });
}
