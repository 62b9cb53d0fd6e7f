import { QueueFullError } from '../queue/admission.ts';

/** Amount of something that requests hold, of all clients and of each. */
export class ClientBudget {
  readonly #max: number;
  readonly #maxOfClient: number;
  #amount = 0;
  /** Clients that hold nothing are left out. */
  readonly #clients = new Map<string, number>();

  constructor(max: number, maxOfClient: number) {
    this.#max = max;
    this.#maxOfClient = maxOfClient;
  }

  /** @throws QueueFullError, and nothing was taken */
  take(client: string, amount: number): void {
    const own = this.#clients.get(client) ?? 0;
    if (this.#amount + amount > this.#max || own + amount > this.#maxOfClient) {
      throw new QueueFullError('requests', 1);
    }
    this.#add(client, amount);
  }

  give(client: string, amount: number): void {
    this.#add(client, -amount);
  }

  #add(client: string, amount: number): void {
    this.#amount += amount;
    const own = (this.#clients.get(client) ?? 0) + amount;
    if (own === 0) this.#clients.delete(client);
    else this.#clients.set(client, own);
  }
}
