import type { CacheOperation } from '../../src/engine/cache-operation.ts';
import { type Segment, tokenIdsOf } from '../../src/engine/step.ts';

/** A layer with a sliding window, beside the fake model's slots: what it is given back is gone. */
export class FakeWindows {
  readonly #window: number;
  /** By slot, the token at each position that was written and not given back. */
  readonly #slots: readonly Map<number, number>[];
  /** Times that something went back in this layer alone. */
  numGivenBack = 0;
  /** Copies of parts of a slot. */
  numPartCopies = 0;

  constructor(numSlots: number, window: number) {
    this.#window = window;
    this.#slots = Array.from({ length: numSlots }, () => new Map<number, number>());
  }

  apply(operation: CacheOperation): void {
    if (operation.type === 'load') throw new Error('a tier knows nothing of windows');
    if (operation.type === 'discard') {
      this.numGivenBack += Number(operation.isWindowed ?? false);
      const cells = this.#at(operation.slot);
      for (const position of cells.keys()) {
        const isAfter = position >= operation.start;
        if (isAfter && (!operation.isWindowed || position < operation.end)) cells.delete(position);
      }
      return;
    }
    const [from, to] = [this.#at(operation.from), this.#at(operation.to)];
    this.numPartCopies += Number(operation.windows !== undefined);
    for (const [start, end] of operation.windows ?? [[0, operation.length]]) {
      for (let position = start; position < Math.min(end, operation.length); position++) {
        const tokenId = from.get(position);
        if (tokenId === undefined) throw new Error(`slot ${operation.from} has no ${position}`);
        to.set(position, tokenId);
      }
    }
  }

  write(slot: number, start: number, tokenIds: ArrayLike<number>): void {
    for (let at = 0; at < tokenIds.length; at++) this.#at(slot).set(start + at, tokenIds[at] ?? 0);
  }

  /** After a run: every token must have seen its sequence's own text in its window. */
  check(segment: Segment): void {
    const { sequence, start } = segment;
    const text = [...sequence.tokenIds(0, start), ...tokenIdsOf(segment)];
    const cells = this.#at(sequence.slot);
    for (let at = Math.max(0, start + 1 - this.#window); at < text.length; at++) {
      if (cells.get(at) !== text[at]) {
        throw new Error(`slot ${sequence.slot} reads ${cells.get(at)} at ${at} from ${start} on`);
      }
    }
  }

  /** Pages that hold anything. */
  touchedPages(pageLength: number): number {
    const pagesOf = (cells: Map<number, number>) =>
      new Set([...cells.keys()].map((position) => Math.floor(position / pageLength))).size;
    return this.#slots.reduce((sum, cells) => sum + pagesOf(cells), 0);
  }

  #at(slot: number): Map<number, number> {
    const cells = this.#slots[slot];
    if (!cells) throw new Error(`there is no slot ${slot}`);
    return cells;
  }
}
