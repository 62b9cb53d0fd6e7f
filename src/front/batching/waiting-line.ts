import { StartTags } from '../queue/start-tags.ts';

export interface Place {
  readonly client: string;
  /** Lower goes first. */
  readonly priority: number;
  /** What serving it takes, in units of any kind. */
  readonly cost: number;
}

interface Entry<Item> extends Place {
  readonly item: Item;
  readonly startTag: number;
  readonly arrival: number;
  /** It goes after all others of its priority. */
  readonly isDelayed: boolean;
}

/** What waits, in the order in which it is to be served: by priority, then clients in turns. */
export class WaitingLine<Item> {
  /** Sorted. */
  readonly #entries: Entry<Item>[] = [];
  readonly #tags = new StartTags();
  #numArrived = 0;

  get size(): number {
    return this.#entries.length;
  }

  items(): Item[] {
    return this.#entries.map(({ item }) => item);
  }

  add(item: Item, place: Place): void {
    const startTag = this.#tags.enter(place.client, place.cost);
    const arrival = this.#numArrived++;
    this.#insert({ ...place, item, startTag, arrival, isDelayed: false });
  }

  /** Puts a waiting item after all others of its priority. */
  delay(item: Item): void {
    const entry = this.#takeOut(item);
    if (entry) this.#insert({ ...entry, isDelayed: true });
  }

  /** Takes out an item that is served. */
  serve(item: Item): void {
    const entry = this.#takeOut(item);
    if (entry) this.#tags.serve(entry.startTag);
    this.#forgetIdle();
  }

  /** Takes out an item that is not served. */
  remove(item: Item): void {
    this.#takeOut(item);
    this.#forgetIdle();
  }

  #insert(entry: Entry<Item>): void {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#entries[middle];
      if (other && compare(other, entry) < 0) low = middle + 1;
      else high = middle;
    }
    this.#entries.splice(low, 0, entry);
  }

  #takeOut(item: Item): Entry<Item> | undefined {
    const index = this.#entries.findIndex((entry) => entry.item === item);
    return index === -1 ? undefined : this.#entries.splice(index, 1)[0];
  }

  #forgetIdle(): void {
    // One client after the other is forgotten in the end, and looking for them costs a walk.
    if (this.#entries.length > 0) return;
    this.#tags.forgetIdle(new Set());
  }
}

function compare<Item>(a: Entry<Item>, b: Entry<Item>): number {
  return (
    a.priority - b.priority ||
    Number(a.isDelayed) - Number(b.isDelayed) ||
    a.startTag - b.startTag ||
    a.arrival - b.arrival
  );
}
