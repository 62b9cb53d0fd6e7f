import { AGING_MS } from '../../engine/request.ts';
import type { Queue, QueueAddOptions } from 'p-queue';
import { StartTags } from './start-tags.ts';

/** A task of p-queue's. */
type Task = () => Promise<unknown>;

export interface FairQueueOptions extends QueueAddOptions {
  /** Client of the request; requests without one share a place. */
  readonly client?: string;
  /** Cost of serving it, in tokens. */
  readonly cost?: number;
  /** Lower goes first, as in vLLM. */
  readonly level?: number;
  /** Tier of its service class; requests of different tiers don't wait for each other's turn. */
  readonly tier?: number;
}

interface Entry<Run> {
  readonly run: Run;
  readonly id: string | undefined;
  readonly client: string;
  readonly level: number;
  readonly tier: number;
  readonly arrivedAt: number;
  /** See StartTags. */
  readonly startTag: number;
}

/**
 * The order in which waiting requests get a place: by priority, and among equals clients take
 * turns, weighted by the tokens of their requests (see StartTags). So a client's flood delays its own
 * requests and not those of others. Admission takes from it directly; for FairPool it is p-queue's
 * queue class.
 */
export class FairQueue<Run = Task> implements Queue<Run, FairQueueOptions> {
  /** By tier, level and client: entries in order of arrival, never none. */
  readonly #lines = new Map<string, Entry<Run>[]>();
  readonly #tags = new StartTags();
  readonly #now: () => number;
  #size = 0;

  /** @param now a clock in milliseconds; p-queue makes its queue without one */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#size;
  }

  enqueue(run: Run, options: Partial<FairQueueOptions> = {}): void {
    const { client = '', cost = 1, level = 0, tier = 0, id } = options;
    const startTag = this.#tags.enter(client, cost);
    const entry = { run, id, client, level, tier, arrivedAt: this.#now(), startTag };
    const line = this.#lines.get(lineOf(entry));
    if (line) line.push(entry);
    else this.#lines.set(lineOf(entry), [entry]);
    this.#size++;
  }

  /** @param mayStart whether one of this tier can have a place now */
  dequeue(mayStart: (tier: number) => boolean = () => true): Run | undefined {
    const now = this.#now();
    const heads = [...this.#lines.values()].flatMap(([head]) =>
      head && mayStart(head.tier) ? [head] : [],
    );
    // Age raises a request to the best level that waits, but not above it.
    const best = Math.min(...heads.map(({ level }) => level));
    const rank = ({ level, arrivedAt }: Entry<Run>) =>
      Math.max(best, level - Math.floor((now - arrivedAt) / AGING_MS));
    const [first] = heads.sort((a, b) => rank(a) - rank(b) || a.startTag - b.startTag);
    if (!first) return undefined;
    this.#tags.serve(first.startTag);
    this.#removeAt(lineOf(first), 0);
    return first.run;
  }

  /** Takes out a request that was aborted while it waited. */
  remove(id: string): void {
    for (const [key, line] of this.#lines) {
      const index = line.findIndex((entry) => entry.id === id);
      if (index !== -1) this.#removeAt(key, index);
    }
  }

  filter(): Run[] {
    return [...this.#lines.values()].flat().map(({ run }) => run);
  }

  setPriority(): never {
    throw new Error('a waiting request keeps its place');
  }

  #removeAt(key: string, index: number): void {
    const line = this.#lines.get(key) ?? [];
    line.splice(index, 1);
    this.#size--;
    if (line.length > 0) return;
    this.#lines.delete(key);
    this.#tags.forgetIdle(new Set([...this.#lines.values()].map(([head]) => head?.client)));
  }
}

function lineOf({
  tier,
  level,
  client,
}: Pick<Entry<unknown>, 'tier' | 'level' | 'client'>): string {
  return `${tier} ${level} ${client}`;
}
