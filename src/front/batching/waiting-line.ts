import { StartTags } from '../queue/start-tags.ts';

export interface Place {
  readonly client: string;
  /** Lower goes first. */
  readonly priority: number;
  /** Cost of serving it, in any unit. */
  readonly cost: number;
}

interface Entry<Item> extends Place {
  readonly item: Item;
  readonly startTag: number;
  readonly arrival: number;
  /** It goes after all others of its priority. */
  readonly isDelayed: boolean;
}

/** Waiting items in the order in which they are to be served: by priority, then clients in turns. */
export class WaitingLine<Item> {
  /** Sorted. */
  readonly #sorted: Entry<Item>[] = [];
  readonly #byItem = new Map<Item, Entry<Item>>();
  readonly #tags = new StartTags();
  #numArrived = 0;

  get size(): number {
    return this.#sorted.length;
  }

  items(): Item[] {
    return this.#sorted.map(({ item }) => item);
  }

  has(item: Item): boolean {
    return this.#byItem.has(item);
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
    this.#sorted.splice(this.#placeOf(entry), 0, entry);
    this.#byItem.set(entry.item, entry);
  }

  #takeOut(item: Item): Entry<Item> | undefined {
    const entry = this.#byItem.get(item);
    if (entry === undefined) return undefined;
    this.#byItem.delete(item);
    this.#sorted.splice(this.#placeOf(entry), 1);
    return entry;
  }

  /** Where an entry is, or is to be: a binary search, because thousands may leave at once. */
  #placeOf(entry: Entry<Item>): number {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#sorted[middle];
      if (other && compare(other, entry) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #forgetIdle(): void {
    // One client after the other is forgotten in the end, and looking for them costs a walk.
    if (this.#sorted.length > 0) return;
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
