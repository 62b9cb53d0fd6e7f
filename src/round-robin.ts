/** A queue in which clients take turns, each with its own entries in order of arrival. */
export class RoundRobin<Entry> {
  /** By client, in the order of their turns; never empty ones. */
  readonly #lines = new Map<string, Entry[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(client: string): number {
    return this.#lines.get(client)?.length ?? 0;
  }

  push(client: string, entry: Entry): void {
    const line = this.#lines.get(client);
    if (line) line.push(entry);
    else this.#lines.set(client, [entry]);
    this.#size++;
  }

  /** Takes out the entry whose turn it is. */
  shift(): Entry | undefined {
    const [turn] = this.#lines;
    if (turn === undefined) return undefined;
    const [client, line] = turn;
    const first = line.shift();
    this.#lines.delete(client);
    if (line.length > 0) this.#lines.set(client, line);
    this.#size--;
    return first;
  }

  remove(client: string, entry: Entry): void {
    const line = this.#lines.get(client) ?? [];
    const index = line.indexOf(entry);
    if (index === -1) return;
    line.splice(index, 1);
    this.#size--;
    if (line.length === 0) this.#lines.delete(client);
  }
}
