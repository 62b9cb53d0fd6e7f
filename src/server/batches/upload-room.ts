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
