import { once } from '../../once.ts';

/** How much each client has at work, up to a limit. */
export class ClientCounts {
  readonly #limit: number;
  readonly #counts = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts one more until what it returns is called; null when the client has as many as it may. */
  begin(client: string): (() => void) | null {
    const count = this.#counts.get(client) ?? 0;
    if (count >= this.#limit) return null;
    this.#counts.set(client, count + 1);
    return once(() => {
      const left = (this.#counts.get(client) ?? 0) - 1;
      if (left > 0) this.#counts.set(client, left);
      else this.#counts.delete(client);
    });
  }
}
