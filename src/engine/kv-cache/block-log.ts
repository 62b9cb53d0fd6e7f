/** Full blocks that became findable in the prefix cache, each with a name for it and all before it. */
interface StoredBlocks {
  readonly type: 'stored';
  /** One after the other. */
  readonly names: number[];
  /** Name of the block before the first one; null at the beginning of a text. */
  readonly parent: number | null;
  /** Tokens of all these blocks. */
  readonly tokenIds: number[];
  /** Only texts with the same salt share blocks. */
  readonly salt: string;
}

/** Blocks that were added to the prefix cache, or removed from it. */
export type BlockEvent =
  | StoredBlocks
  | { readonly type: 'removed'; readonly names: readonly number[] };

/** Collects events until they are sent. Blocks that follow each other are one event. */
export class BlockLog {
  #events: BlockEvent[] = [];
  /** The last event, while the next block may follow it. */
  #open: StoredBlocks | null = null;

  /** One block. */
  stored(name: number, parent: number | null, tokenIds: Int32Array, salt: string): void {
    const open = this.#open;
    if (open !== null && open.names.at(-1) === parent && open.salt === salt) {
      open.names.push(name);
      open.tokenIds.push(...tokenIds);
      return;
    }
    this.#open = { type: 'stored', names: [name], parent, tokenIds: [...tokenIds], salt };
    this.#events.push(this.#open);
  }

  removed(names: readonly number[]): void {
    if (names.length === 0) return;
    this.#open = null;
    this.#events.push({ type: 'removed', names });
  }

  /** Events since the last call, in order. */
  drain(): readonly BlockEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#open = null;
    return events;
  }
}
