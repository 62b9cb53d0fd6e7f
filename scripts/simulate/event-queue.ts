interface Event {
  readonly atMs: number;
  /** Order of events at the same time: the one that was scheduled first comes first. */
  readonly order: number;
  readonly action: () => void;
}

/** The virtual clock and what is to happen when: no time passes but by `runUntil`. */
export class EventQueue {
  /** A binary heap: no event comes before its parent, at half its index. */
  readonly #heap: Event[] = [];
  #nowMs = 0;
  #scheduled = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Time of the next event; Infinity when nothing is scheduled. */
  get nextMs(): number {
    return this.#heap[0]?.atMs ?? Infinity;
  }

  /** @param atMs a time in the past means now */
  schedule(atMs: number, action: () => void): void {
    const event = { atMs: Math.max(atMs, this.#nowMs), order: this.#scheduled++, action };
    let index = this.#heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = this.#heap[parent];
      if (!above || !precedes(event, above)) break;
      this.#heap[index] = above;
      index = parent;
    }
    this.#heap[index] = event;
  }

  /** Everything that happens up to and at a time, each at its own time; ends there. */
  runUntil(atMs: number): void {
    while (this.nextMs <= atMs) {
      const event = this.#take();
      if (!event) break;
      this.#nowMs = event.atMs;
      event.action();
    }
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  #take(): Event | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const [left, right] = [this.#heap[child], this.#heap[child + 1]];
      if (left && right && precedes(right, left)) child++;
      const below = this.#heap[child];
      if (!below || precedes(last, below)) break;
      this.#heap[index] = below;
      index = child;
    }
    this.#heap[index] = last;
    return first;
  }
}

function precedes(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
